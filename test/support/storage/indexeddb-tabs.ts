import { randomUUID } from 'node:crypto'
import { deleteDB, openDB } from 'idb'
import { afterEach, beforeEach, vi } from 'vitest'
import { type IndexedDbOptions, indexedDbStorage } from '../../../adapters/storage/indexeddb.js'
import type { Storage } from '../../../src/storage/storage.js'
import { accounts } from '../../storage/cases.js'
import { lockManager } from './locks.js'
import { notes } from './storage-model.js'

/** A database for each test, gone after it, with as many storages on it as there are tabs. */
export function useTabs() {
  let own: { name: string; locks: ReturnType<typeof lockManager> }
  const storages: Storage[] = []
  beforeEach(() => {
    own = { name: randomUUID(), locks: lockManager() }
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    for (const storage of storages.splice(0)) await storage.close()
    await deleteDB(own.name)
  })
  return {
    get name() {
      return own.name
    },
    get locks() {
      return own.locks
    },
    tab(options: IndexedDbOptions = {}): Storage {
      const storage = indexedDbStorage({ ...own, collections: [notes, accounts], ...options })
      storages.push(storage)
      return storage
    },
    /** The connections that are opened from now on. */
    watchConnections(): IDBDatabase[] {
      const connections: IDBDatabase[] = []
      const open = IDBFactory.prototype.open
      vi.spyOn(IDBFactory.prototype, 'open').mockImplementation(function (this: IDBFactory, ...given) {
        const request = open.apply(this, given)
        request.addEventListener('success', () => connections.push(request.result))
        return request
      })
      return connections
    },
    /** The database as it lies there: its version, and the indexes of each store. */
    async layout(): Promise<{ version: number; stores: Record<string, string[]> }> {
      const db = await openDB(own.name)
      const names = [...db.objectStoreNames]
      const tx = db.transaction(names)
      const stores = Object.fromEntries(names.map((store) => [store, [...tx.objectStore(store).indexNames]]))
      db.close()
      return { version: db.version, stores }
    },
  }
}
