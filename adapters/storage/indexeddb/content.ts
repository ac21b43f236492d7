import { deleteDB, type IDBPDatabase, type IDBPTransaction, openDB, unwrap } from 'idb'
import { assertLists } from '../../../src/storage/state.js'
import {
  type AnyCollection,
  OutcomeUnknown,
  type State,
  StorageFull,
  StorageUnavailable,
} from '../../../src/storage/storage.js'

export async function readContent(tx: IDBPTransaction<unknown, string[], 'readonly'>, schema: number): Promise<State> {
  const names = [...tx.objectStoreNames].map(collectionOf).filter((name) => name !== undefined)
  // All requests start at once. IndexedDB returns store names and keys in the order of their code units.
  const [counters, ...lists] = await Promise.all([
    readCounters(tx),
    ...names.map((name) => tx.objectStore(storeOf(name)).getAll()),
  ])
  const state: unknown = {
    schema,
    counters,
    rows: Object.fromEntries([...names.entries()].flatMap(([i, name]) => (lists[i]?.length ? [[name, lists[i]]] : []))),
  }
  assertLists(state)
  return state
}

export async function readCounters(tx: IDBPTransaction<unknown, string[], 'readonly' | 'readwrite'>) {
  const counters = tx.objectStore(COUNTERS)
  const [names, last] = await Promise.all([counters.getAllKeys(), counters.getAll()])
  return Object.fromEntries(names.map((name, i) => [String(name), Number(last[i])]))
}

/** Puts a state in the place of everything. Plain requests without promises: an error in one aborts the transaction. */
export function writeContent<M extends 'readwrite' | 'versionchange'>(
  tx: IDBPTransaction<unknown, string[], M>,
  { schema, counters, rows }: State,
): void {
  const storeNamed = (name: string) => unwrap(tx.objectStore(name)) as IDBObjectStore // Of a transaction that writes.
  // It reads the count before the store is emptied, and writes it afterwards.
  countCommit(storeNamed(SCHEMA_STORE))
  for (const name of tx.objectStoreNames) storeNamed(name).clear()
  storeNamed(SCHEMA_STORE).put(schema, SCHEMA_KEY)
  for (const [name, last] of Object.entries(counters)) storeNamed(COUNTERS).put(last, name)
  for (const [name, list] of Object.entries(rows)) for (const row of list) storeNamed(storeOf(name)).put(row)
}

/** The schema of a database's rows. Databases from before schemas were numbered have 1, and empty ones none. */
export async function readSchema(db: IDBPDatabase): Promise<number | undefined> {
  if (!db.objectStoreNames.contains(COUNTERS)) return undefined
  if (!db.objectStoreNames.contains(SCHEMA_STORE)) return 1
  const stored: unknown = await db.get(SCHEMA_STORE, SCHEMA_KEY)
  return typeof stored === 'number' ? stored : 1
}

export async function readCommits(tx: IDBPTransaction<unknown, string[], 'readonly'>): Promise<number> {
  return Number((await tx.objectStore(SCHEMA_STORE).get(COMMITS_KEY)) ?? 0)
}

/** Counts one more commit. It makes a plain request without a promise: an error in it aborts the transaction. */
export function countCommit(store: IDBObjectStore): void {
  const request = store.get(COMMITS_KEY)
  request.onsuccess = () => store.put(Number(request.result ?? 0) + 1, COMMITS_KEY)
}

const copyName = (name: string, schema: number): string => `${name}.v${schema}`

/** Puts a copy of an older state into a database of its own, for the release that wrote it, and removes still older ones. */
export async function keepOlder(name: string, state: State & { readonly schema: number }): Promise<void> {
  // An earlier try may have put one there.
  await deleteDB(copyName(name, state.schema))
  let reason: DOMException | null = null
  const made = openDB(copyName(name, state.schema), 1, {
    upgrade(db, _from, _to, tx) {
      tx.addEventListener('abort', () => (reason = tx.error))
      tx.done.catch(() => {})
      for (const store of [COUNTERS, SCHEMA_STORE]) db.createObjectStore(store)
      for (const collection of Object.keys(state.rows)) db.createObjectStore(storeOf(collection), { keyPath: 'id' })
      writeContent(tx, state)
    },
  })
  const copy = await made.catch((error: unknown) => {
    throw reason ?? error
  })
  copy.close()
  for (let older = 1; older < state.schema; older++) await deleteDB(copyName(name, older))
}

export const COUNTERS = 'counters'
export const SCHEMA_STORE = 'schema'
export const SCHEMA_KEY = 'schema'
/** The key of how many times rows have changed, in the same store. It is no part of the state. */
const COMMITS_KEY = 'commits'
const ROWS = 'rows.'
export const storeOf = (collection: string): string => ROWS + collection
const collectionOf = (store: string): string | undefined =>
  store.startsWith(ROWS) ? store.slice(ROWS.length) : undefined

interface Schema {
  readonly collections: readonly AnyCollection[]
  readonly others: ReadonlySet<string>
  /** Whether a different tab upgraded the database. Its indexes then stay: two versions of the code must not undo each other. */
  readonly superseded: boolean
}

/** One change of the schema. IndexedDB allows it only in a `versionchange` transaction. */
type Step = (upgrade: IDBPTransaction<unknown, string[], 'versionchange'>) => void

/**
 * Returns the changes that turn a database into a schema. Run each in a `versionchange` transaction. Rows stay.
 * Every index ends with the id, so that it orders rows as queries do. That makes all keys unique, so writers must check
 * unique indexes themselves.
 * Throws `StorageUnavailable` if a newer version of the code has changed one of these indexes.
 */
export function differences(
  db: IDBPDatabase,
  tx: IDBPTransaction<unknown, string[], IDBTransactionMode> | undefined,
  { collections, others, superseded }: Schema,
): Step[] {
  const steps: Step[] = []
  const has = (store: string) => db.objectStoreNames.contains(store)
  if (!has(COUNTERS)) steps.push(() => db.createObjectStore(COUNTERS))
  if (!has(SCHEMA_STORE)) steps.push(() => db.createObjectStore(SCHEMA_STORE))
  for (const name of others)
    if (!has(storeOf(name))) steps.push(() => db.createObjectStore(storeOf(name), { keyPath: 'id' }))

  for (const { name, indexes } of collections) {
    const store = has(storeOf(name)) ? tx?.objectStore(storeOf(name)) : undefined
    const wanted = new Map(Object.entries(indexes).map(([index, { fields }]) => [index, [...fields, 'id']]))
    if (!store) {
      steps.push(() => {
        const made = db.createObjectStore(storeOf(name), { keyPath: 'id' })
        for (const [index, keyPath] of wanted) made.createIndex(index, keyPath)
      })
      continue
    }
    const found = new Map([...store.indexNames].map((index) => [index, store.index(index).keyPath]))
    for (const [index, keyPath] of found) {
      const isKept = wanted.has(index) ? isSame(wanted.get(index), keyPath) : superseded
      if (!isKept && superseded)
        throw new StorageUnavailable(
          `Another tab runs a newer version of this site, which keeps ${name}.${index} otherwise. Reload this page.`,
        )
      if (!isKept) steps.push((upgrade) => upgrade.objectStore(storeOf(name)).deleteIndex(index))
    }
    for (const [index, keyPath] of wanted)
      if (!isSame(found.get(index), keyPath))
        steps.push((upgrade) => upgrade.objectStore(storeOf(name)).createIndex(index, keyPath))
  }
  return steps
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** An error of IndexedDB as one of the storage. Others stay as they are. `isCommitted`: it is unknown whether writes are stored. */
export function failure(cause: unknown, { isCommitted = false } = {}): unknown {
  if (!(cause instanceof DOMException)) return cause
  switch (cause.name) {
    case 'QuotaExceededError':
      return new StorageFull(
        'The browser gives this site no more space, so nothing of this write was stored. Free space on the device, or export the state and delete what you do not need. Then try again.',
        { cause },
      )
    case 'NotFoundError':
      return new TypeError('The database has no such collection: name it among `collections`.', { cause })
    case 'DataCloneError':
      return new TypeError(`A row is not plain JSON: ${cause.message}`, { cause })
    default: {
      const what = `${cause.name}: ${cause.message}`
      if (!isCommitted)
        return new StorageUnavailable(`IndexedDB failed (${what}), and nothing was changed. Try again.`, { cause })
      return new OutcomeUnknown(
        `IndexedDB failed while it committed (${what}). Check whether the write is there before you try again.`,
        { cause },
      )
    }
  }
}
