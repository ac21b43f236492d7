import { type IDBPDatabase, type IDBPTransaction, unwrap } from 'idb'
import { assertLists } from '../../../src/storage/state.js'
import type { State } from '../../../src/storage/storage.js'
import { countCommit } from './commits.js'
import { COUNTERS, collectionOf, SCHEMA_KEY, SCHEMA_STORE, storeOf } from './schema.js'

/** Reads everything that a database holds. The transaction covers all of its stores. */
export async function readContent(tx: IDBPTransaction<unknown, string[], 'readonly'>, schema: number): Promise<State> {
  const counters = tx.objectStore(COUNTERS)
  const names = [...tx.objectStoreNames].map(collectionOf).filter((name) => name !== undefined)
  // All requests start at once. IndexedDB returns store names and keys in the order of their code units.
  const [counted, last, ...lists] = await Promise.all([
    counters.getAllKeys(),
    counters.getAll(),
    ...names.map((name) => tx.objectStore(storeOf(name)).getAll()),
  ])
  const state: unknown = {
    schema,
    counters: Object.fromEntries(counted.map((name, i) => [String(name), last[i]])),
    rows: Object.fromEntries([...names.entries()].flatMap(([i, name]) => (lists[i]?.length ? [[name, lists[i]]] : []))),
  }
  assertLists(state)
  return state
}

/** Reads the last number of each counter. */
export async function readCounters(
  tx: IDBPTransaction<unknown, string[], 'readwrite'>,
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
