import type { Reader, Storage, Writer } from '../../src/storage/storage.js'

/** A storage that counts the rows that pass it. */
export function countedStorage(storage: Storage) {
  const count = { read: 0, written: 0 }
  const reader = (tx: Reader): Reader => ({
    get(from, id) {
      count.read += 1
      return tx.get(from, id)
    },
    getMany(from, ids) {
      count.read += ids.length
      return tx.getMany(from, ids)
    },
    async find(from, query) {
      const rows = await tx.find(from, query)
      count.read += 1 + rows.length
      return rows
    },
  })
  const writer = (tx: Writer): Writer => ({
    ...reader(tx),
    nextId: (of) => tx.nextId(of),
    nextIds: (of) => tx.nextIds(of),
    put(into, row) {
      count.written += 1
      tx.put(into, row)
    },
    remove(from, id) {
      count.written += 1
      tx.remove(from, id)
    },
  })
  const counted = Object.create(storage, {
    read: { value: <T>(body: (tx: Reader) => Promise<T>) => storage.read((tx) => body(reader(tx))) },
    write: { value: <T>(body: (tx: Writer) => Promise<T>) => storage.write((tx) => body(writer(tx))) },
    export: { value: () => storage.export() },
    import: { value: (...given: Parameters<Storage['import']>) => storage.import(...given) },
    close: { value: () => storage.close() },
    fork: { value: undefined },
    watchCommits: { value: undefined },
  }) as Storage // It has every method of the one below.
  return {
    storage: counted,
    count,
    restart() {
      count.read = 0
      count.written = 0
    },
  }
}
