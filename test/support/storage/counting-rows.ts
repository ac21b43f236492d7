import { memoryStorage } from '../../../adapters/storage/memory.js'
import { timers } from '../../../src/jobs/schedule/timer.js'
import type { Reader, Storage, Writer } from '../../../src/storage/storage.js'

/** A storage that counts the rows that are read and written. While `paused.timers` is true, no timer is due in it. */
export function countingRows(inner: Storage = memoryStorage()) {
  const counted = { read: 0, written: 0 }
  const paused = { timers: false }
  const seen = async <T>(asked: Promise<T>): Promise<T> => {
    const answer = await asked
    counted.read += Array.isArray(answer) ? answer.length : 1
    return answer
  }
  const reader = (tx: Reader): Reader => ({
    get: (from, id) => seen(tx.get(from, id)),
    getMany: (from, ids) => seen(tx.getMany(from, ids)),
    find: async (from, query) => (paused.timers && from.name === timers.name ? [] : seen(tx.find(from, query))),
  })
  const writer = (tx: Writer): Writer => ({
    ...reader(tx),
    nextId: (of) => tx.nextId(of),
    nextIds: (of) => tx.nextIds(of),
    put(into, row) {
      counted.written++
      tx.put(into, row)
    },
    remove(from, id) {
      counted.written++
      tx.remove(from, id)
    },
  })
  const storage: Storage = {
    ...inner,
    read: (body) => inner.read((tx) => body(reader(tx))),
    write: (body) => inner.write((tx) => body(writer(tx))),
  }
  return { storage, inner, counted, paused }
}
