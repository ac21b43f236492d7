import type { IDBPDatabase, IDBPTransaction } from 'idb'
import { type AnyCollection, StorageUnavailable } from '../../../src/storage/storage.js'

/** The object store of the last number given under each name. */
export const COUNTERS = 'counters'

const ROWS = 'rows.'
/** The object store of a collection. */
export const storeOf = (collection: string): string => ROWS + collection
/** The collection of an object store; undefined for the counters. */
export const collectionOf = (store: string): string | undefined =>
  store.startsWith(ROWS) ? store.slice(ROWS.length) : undefined

export interface Schema {
  /** With the indexes that they shall have, and no others. */
  readonly collections: readonly AnyCollection[]
  /** Names of collections that need a place and no indexes. */
  readonly others: ReadonlySet<string>
  /** Another tab declared the database anew: what it added stays, so that two versions of the code do not undo each other. */
  readonly superseded: boolean
}

/** Creating and deleting indexes is for `versionchange` transactions. */
type Step = (upgrade: IDBPTransaction<unknown, string[], 'versionchange'>) => void

/**
 * What would make a database hold a schema, each to be run with its `versionchange` transaction; none where it
 * does already. Rows are kept throughout. An index has the id at its end, so that it orders rows as queries do:
 * that a unique one is so is for whoever writes to check.
 * Throws `StorageUnavailable` where a newer version of the code has made one of these indexes another.
 */
export function differences(
  db: IDBPDatabase,
  tx: IDBPTransaction<unknown, string[], IDBTransactionMode> | undefined,
  { collections, others, superseded }: Schema,
): Step[] {
  const steps: Step[] = []
  const has = (store: string) => db.objectStoreNames.contains(store)
  if (!has(COUNTERS)) steps.push(() => db.createObjectStore(COUNTERS))
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
