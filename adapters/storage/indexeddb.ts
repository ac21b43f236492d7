import { unwrap } from 'idb'
import { collections as all } from '../../src/core.js'
import { assertKeys } from '../../src/storage/key.js'
import { assertLists, assertState } from '../../src/storage/state.js'
import {
  type AnyCollection,
  type Reader,
  type State,
  type Storage,
  StorageUnavailable,
  type Writer,
} from '../../src/storage/storage.js'
import { Transaction } from '../../src/storage/transaction.js'
import { Database } from './indexeddb/database.js'
import { presenceBy } from './indexeddb/presence.js'
import { Rows, uniqueKeys } from './indexeddb/rows.js'
import { COUNTERS, collectionOf, storeOf } from './indexeddb/schema.js'

export { StorageFull } from './indexeddb/errors.js'

export interface IndexedDbOptions {
  /** The database's name. Default: `farthing`. */
  name?: string
  /** Every collection to read or write, with its indexes. Default: the service's collections. */
  collections?: readonly AnyCollection[]
  /** How long to wait, in ms, while a different tab has an older version of the database open. Default: 10 000. */
  patience?: number
  /** The locks of this origin. Default: `navigator.locks`. */
  locks?: Pick<LockManager, 'request'>
}

/**
 * Stores rows in the browser's IndexedDB. All tabs and workers of the origin share them, and a Web Lock orders their writes.
 * Opens the database when it is first used, and upgrades it to the given collections. Its rows stay.
 * Throws `StorageUnavailable` at once if IndexedDB or Web Locks are missing. A write that does not fit rejects with
 * `StorageFull`, and one that the browser aborts with `StorageUnavailable`. Neither stores anything. The storage stays usable.
 */
export function indexedDbStorage({
  name = 'farthing',
  collections = all,
  patience = 10_000,
  locks = globalThis.navigator?.locks,
}: IndexedDbOptions = {}): Storage {
  if (!globalThis.indexedDB) throw new StorageUnavailable('There is no IndexedDB here: this storage is for browsers.')
  if (!locks)
    throw new StorageUnavailable('There are no Web Locks here: serve this page over https, or from localhost.')
  const database = new Database({ name, collections, patience })
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  const { presence, leave } = presenceBy(locks, `farthing.instance.${name}`)

  /** Runs a job while it holds the lock: alone, or with other readers. */
  async function locked<T>(mode: LockMode, job: () => Promise<T>): Promise<T> {
    if (closing) throw new StorageUnavailable('The storage is closed.')
    // Open first: while a different tab blocks the opening, nobody should wait for this lock.
    const turn = database.open().then(() => locks.request(`farthing.storage.${name}`, { mode }, job))
    running.add(turn)
    try {
      return await turn
    } finally {
      running.delete(turn)
    }
  }

  async function write<T>(body: (tx: Writer) => Promise<T>): Promise<T> {
    const rows = new Rows(database)
    try {
      const tx = new Transaction(rows)
      const result = await body(tx)
      await rows.land([...tx.changes()])
      return result
    } catch (error) {
      // Ids that this body got are never used again. If storing that fails too, only this body has seen them.
      await rows.land([]).catch(ignore)
      throw error
    }
  }

  async function shut(): Promise<void> {
    await Promise.allSettled(running)
    leave()
    database.close()
  }

  return {
    name: 'indexeddb',
    exclusive: false,
    presence,
    read: <T>(body: (tx: Reader) => Promise<T>) => locked('shared', () => body(new Rows(database))),
    write: <T>(body: (tx: Writer) => Promise<T>) => locked('exclusive', () => write(body)),
    export: () => locked('shared', () => exportState(database)),
    import: (state) => locked('exclusive', () => importState(database, collections, state)),
    close() {
      closing ??= shut()
      return closing
    },
  }
}

async function exportState(database: Database): Promise<State> {
  return database.read('all', async (tx) => {
    const counters = tx.objectStore(COUNTERS)
    const names = [...tx.objectStoreNames].map(collectionOf).filter((name) => name !== undefined)
    // All requests start at once. IndexedDB returns store names and keys in the order of their code units.
    const [counted, last, ...lists] = await Promise.all([
      counters.getAllKeys(),
      counters.getAll(),
      ...names.map((name) => tx.objectStore(storeOf(name)).getAll()),
    ])
    const state: unknown = {
      counters: Object.fromEntries(counted.map((name, i) => [String(name), last[i]])),
      rows: Object.fromEntries(
        [...names.entries()].flatMap(([i, name]) => (lists[i]?.length ? [[name, lists[i]]] : [])),
      ),
    }
    assertLists(state)
    return state
  })
}

async function importState(database: Database, collections: readonly AnyCollection[], given: State): Promise<void> {
  const state: unknown = JSON.parse(JSON.stringify(given))
  assertState(state)
  const lists = Object.entries(state.rows).filter(([, rows]) => rows.length > 0)
  for (const [name, rows] of lists) {
    const collection = collections.find((each) => each.name === name)
    if (!collection) continue
    for (const row of rows) assertKeys(collection, row)
    uniqueKeys(collection, rows)
  }
  database.admit(lists.map(([name]) => name))
  await database.write('all', (tx) => {
    for (const name of tx.objectStoreNames) unwrap(tx.objectStore(name)).clear()
    for (const [name, last] of Object.entries(state.counters)) unwrap(tx.objectStore(COUNTERS)).put(last, name)
    for (const [name, rows] of lists) {
      const store = unwrap(tx.objectStore(storeOf(name)))
      for (const row of rows) store.put(row)
    }
  })
}

function ignore(): void {}
