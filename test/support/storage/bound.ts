import type { Writer } from '../../../src/storage/storage.js'

/** The methods of a transaction as own properties: a transaction of another storage, which is no class of ours. */
export const bound = (tx: Writer): Writer => ({
  get: (from, id) => tx.get(from, id),
  getMany: (from, ids) => tx.getMany(from, ids),
  find: (from, query) => tx.find(from, query),
  nextId: (of) => tx.nextId(of),
  nextIds: (of) => tx.nextIds(of),
  put: (into, row) => tx.put(into, row),
  remove: (from, id) => tx.remove(from, id),
})
