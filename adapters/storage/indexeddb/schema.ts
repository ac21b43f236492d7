import type { IDBPDatabase, IDBPTransaction } from 'idb'
import { type AnyCollection, StorageUnavailable } from '../../../src/storage/storage.js'

/** The object store of the counters: the last id of each. */
export const COUNTERS = 'counters'

/** The object store of the number of the rows' schema. */
export const SCHEMA_STORE = 'schema'
/** The key of that number. */
export const SCHEMA_KEY = 'schema'
/** The key of how many times rows have changed, in the same store. It is no part of the state. */
export const COMMITS_KEY = 'commits'

const ROWS = 'rows.'
/** Returns the name of a collection's object store. */
export const storeOf = (collection: string): string => ROWS + collection
/** Returns the name of an object store's collection. Undefined for others. */
export const collectionOf = (store: string): string | undefined =>
  store.startsWith(ROWS) ? store.slice(ROWS.length) : undefined

export interface Schema {
  /** The declared collections, with exactly the indexes that they need. */
  readonly collections: readonly AnyCollection[]
  /** Names of collections that need an object store without indexes. */
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
