import { collections as all, schemaHistory } from '../../src/core.js'
import { assertKeys } from '../../src/storage/key.js'
import { assertState, latestOf } from '../../src/storage/state.js'
import {
  type AnyCollection,
  type ImportOptions,
  type Presence,
  type Reader,
  type State,
  type Storage,
  StorageClosed,
  StorageUnavailable,
  type Writer,
} from '../../src/storage/storage.js'
import { migrateState, type SchemaHistory } from '../../src/storage/tables/migration.js'
import { Transaction } from '../../src/storage/transaction.js'
import { ignore } from '../../src/storage/unknown.js'
import { readCommits, readContent, readCounters, SCHEMA_STORE, writeContent } from './indexeddb/content.js'
import { Database } from './indexeddb/database.js'
import { Rows, uniqueKeys } from './indexeddb/rows.js'

export { StorageFull } from '../../src/storage/storage.js'

export interface IndexedDbOptions {
  /** The database's name. Default: `farthing`. */
  name?: string
  /** Every collection to read or write, with its indexes. Default: the service's collections. */
  collections?: readonly AnyCollection[]
  /** How long to wait, in ms, while a different tab has an older version of the database open. Default: 10 000. */
  patience?: number
  /** The locks of this origin. Default: `navigator.locks`. */
  locks?: Pick<LockManager, 'request'>
  /** The schemas of the rows. Default: the service's. */
  history?: SchemaHistory
}

/**
 * Stores rows in the browser's IndexedDB. All tabs and workers of the origin share them, and a Web Lock orders their writes.
 * Opens the database when it is first used, and upgrades it to the given collections. Its rows stay. If an older release
 * wrote them, it puts a copy into the database `<name>.v1` and migrates them. Rejects with `SchemaNewer` if a newer one did.
 * Throws `StorageUnavailable` at once if IndexedDB or Web Locks are missing. A write that does not fit rejects with
 * `StorageFull`, and one that the browser aborts with `StorageUnavailable`. Neither stores anything. The storage stays usable.
 */
export function indexedDbStorage({
  name = 'farthing',
  collections = all,
  patience = 10_000,
  locks = globalThis.navigator?.locks,
  history = schemaHistory,
}: IndexedDbOptions = {}): Storage {
  if (!globalThis.indexedDB) throw new StorageUnavailable('There is no IndexedDB here: this storage is for browsers.')
  if (!locks)
    throw new StorageUnavailable('There are no Web Locks here: serve this page over https, or from localhost.')
  const alone = <T>(job: () => Promise<T>) => locks.request(`farthing.storage.${name}`, { mode: 'exclusive' }, job)
  const database = new Database({ name, collections, patience, history, alone })
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  const { presence, leave } = presenceBy(locks, `farthing.instance.${name}`)

  async function locked<T>(mode: LockMode, job: () => Promise<T>): Promise<T> {
    if (closing) throw new StorageClosed()
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
    export: () => locked('shared', () => database.read('all', (tx) => readContent(tx, history.current))),
    countCommits: () => database.read([SCHEMA_STORE], readCommits),
    import: (state, options) => locked('exclusive', () => importState(database, state, options)),
    close: () => (closing ??= shut()),
  }
}

async function importState(
  database: Database,
  given: State,
  { keepsNumbers = false, check }: ImportOptions = {},
): Promise<void> {
  const { collections, history } = database.options
  assertState(given)
  const state = await migrateState(JSON.parse(JSON.stringify(given)), history)
  const lists = Object.entries(state.rows).filter(([, rows]) => rows.length > 0)
  for (const [name, rows] of lists) {
    const collection = collections.find((each) => each.name === name)
    if (!collection) continue
    for (const row of rows) assertKeys(collection, row)
    uniqueKeys(collection, rows)
  }
  database.admit(lists.map(([name]) => name))
  await check?.(new Rows(database))
  await database.write('all', async (tx) => {
    const counters = keepsNumbers ? latestOf(state.counters, await readCounters(tx)) : state.counters
    writeContent(tx, { ...state, counters, rows: Object.fromEntries(lists) })
  })
}

/** Shows which instances are alive: each holds a lock of its name. The browser releases it when the tab or worker ends. */
function presenceBy(locks: Pick<LockManager, 'request'>, prefix: string): { presence: Presence; leave: () => void } {
  let leave = () => {}
  const left = new Promise<void>((resolve) => (leave = resolve))
  const entered = new Map<string, Promise<void>>()
  const enter = (name: string) =>
    new Promise<void>((resolve, reject) => {
      const hold = () => {
        resolve()
        return left
      }
      locks.request(`${prefix}.${name}`, hold).catch(reject)
    })
  const presence: Presence = {
    enter(name) {
      const known = entered.get(name) ?? enter(name)
      entered.set(name, known)
      return known
    },
    isAlive: (name) =>
      locks.request(`${prefix}.${name}`, { mode: 'shared', ifAvailable: true }, async (lock) => lock === null),
  }
  return { presence, leave }
}
