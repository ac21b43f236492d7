import { deleteDB, type IDBPDatabase, type IDBPTransaction, openDB, unwrap } from 'idb'
import { assertLists } from '../../../src/storage/state.js'
import type { State } from '../../../src/storage/storage.js'
import { COMMITS_KEY, COUNTERS, collectionOf, SCHEMA_KEY, SCHEMA_STORE, storeOf } from './schema.js'

/** Reads everything that a database holds. The transaction covers all of its stores. */
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

export async function readCounters(
  tx: IDBPTransaction<unknown, string[], 'readonly' | 'readwrite'>,
): Promise<Record<string, number>> {
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

/** Reads how many times the rows of a database have changed. */
export async function readCommits(tx: IDBPTransaction<unknown, string[], 'readonly'>): Promise<number> {
  return Number((await tx.objectStore(SCHEMA_STORE).get(COMMITS_KEY)) ?? 0)
}

/** Counts one more commit. It makes a plain request without a promise: an error in it aborts the transaction. */
export function countCommit(store: IDBObjectStore): void {
  const request = store.get(COMMITS_KEY)
  request.onsuccess = () => store.put(Number(request.result ?? 0) + 1, COMMITS_KEY)
}

/** The name of the database that keeps an older state, such as `farthing.v1`. */
const copyName = (name: string, schema: number): string => `${name}.v${schema}`

/**
 * Puts a copy of an older state into a database of its own, which the release that wrote it can open. Then removes copies
 * of still older states: there is one at most.
 */
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
