import { memoryStorage } from '../../../adapters/storage/memory.js'
import type { Reader, Storage, Writer } from '../../../src/storage/storage.js'

/** A storage that counts what it is asked. Behind a network, each of these calls is a round trip. */
export interface CountingStorage extends Storage {
  /** Reads and numbers taken since the count was last set to 0. Puts and removes wait in memory: they ask nothing. */
  calls: number
}

export function countingStorage(inner: Storage = memoryStorage()): CountingStorage {
  const count = <T>(asked: T): T => {
    storage.calls++
    return asked
  }
  const reader = (tx: Reader): Reader => ({
    get: (from, id) => count(tx.get(from, id)),
    getMany: (from, ids) => count(tx.getMany(from, ids)),
    find: (from, query) => count(tx.find(from, query)),
  })
  const writer = (tx: Writer): Writer => ({
    ...reader(tx),
    nextId: (of) => count(tx.nextId(of)),
    nextIds: (of) => count(tx.nextIds(of)),
    put: (into, row) => tx.put(into, row),
    remove: (from, id) => tx.remove(from, id),
  })
  const storage: CountingStorage = {
    ...inner,
    calls: 0,
    read: (body) => inner.read((tx) => body(reader(tx))),
    write: (body) => inner.write((tx) => body(writer(tx))),
  }
  return storage
}

/** Counts what a job asks of a storage, with what follows it: until nothing has asked it for a while. */
export async function callsOf(storage: CountingStorage, job: () => Promise<unknown>): Promise<number> {
  await untilQuiet(storage)
  const before = storage.calls
  await job()
  await untilQuiet(storage)
  return storage.calls - before
}

async function untilQuiet(storage: CountingStorage): Promise<void> {
  for (let before = -1; before !== storage.calls; ) {
    before = storage.calls
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
