import { deleteDB } from 'idb'
import { type IndexedDbOptions, indexedDbStorage } from '../../../adapters/storage/indexeddb.js'
import type { AnyCollection } from '../../../src/storage/storage.js'
import type { Durable } from '../../storage/cases.js'

/** A storage for one case of the contract, in a database of its own; in browsers as well. */
export async function createIndexedDb(
  collections: readonly AnyCollection[],
  given: IndexedDbOptions = {},
): Promise<Durable> {
  const options = { ...given, name: crypto.randomUUID(), collections }
  let storage = indexedDbStorage(options)
  return {
    storage,
    async reopen() {
      await storage.close()
      storage = indexedDbStorage(options)
      return storage
    },
    async cleanup() {
      await storage.close()
      await deleteDB(options.name)
    },
  }
}
