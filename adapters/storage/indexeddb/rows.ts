import { type IDBPTransaction, unwrap } from 'idb'
import { freezeRow, indexNamed, isKey, keyOf } from '../../../src/storage/key.js'
import {
  type AnyCollection,
  type Collection,
  type Key,
  type Query,
  type Row,
  UniqueViolation,
} from '../../../src/storage/storage.js'
import type { Changes, CommittedReader } from '../../../src/storage/transaction.js'
import { COUNTERS, countCommit, SCHEMA_STORE, storeOf } from './content.js'
import type { Database } from './database.js'

/** Reads and writes the database for one body. Each read is its own transaction in IndexedDB. The lock makes them consistent. */
export class Rows implements CommittedReader {
  readonly #given = new Map<string, number>()

  constructor(readonly database: Database) {}

  async get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    const [row] = await this.getMany(from, [id])
    return row
  }

  async getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    if (ids.length === 0) return []
    const store = storeOf(from.name)
    // All reads start at once, in one transaction. A repeated id is read once.
    const rows = await this.database.read([store], async (tx) => {
      const source = tx.objectStore(store)
      const distinct = [...new Set<Key>(ids)]
      const read: unknown[] = await Promise.all(distinct.map((id) => source.get(id)))
      return new Map(distinct.map((id, i) => [id, read[i] === undefined ? undefined : asPut(from, read[i])]))
    })
    return ids.map((id) => rows.get(id))
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const isIndexed = indexNamed(from, query.index) !== undefined
    const range = rangeOf(query, isIndexed)
    if (!range || query.limit < 1) return []
    const limit = Math.min(query.limit, 2 ** 32 - 1)
    const store = storeOf(from.name)
    const rows = await this.database.read([store], (tx) => {
      const source = isIndexed ? tx.objectStore(store).index(query.index) : tx.objectStore(store)
      return query.reverse ? lastFirst(source, range, limit) : source.getAll(range, limit)
    })
    return rows.map((row) => asPut(from, row))
  }

  async nextId(of: string): Promise<number> {
    const [next = 0] = await this.nextIds([of])
    return next
  }

  async nextIds(of: readonly string[]): Promise<number[]> {
    const unread = [...new Set(of)].filter((name) => !this.#given.has(name))
    const kept = unread.length > 0 ? await this.#lastOf(unread) : []
    // Check again after the read: a body may ask for ids twice at the same time.
    for (const [i, name] of unread.entries()) if (!this.#given.has(name)) this.#given.set(name, kept[i] ?? 0)
    return of.map((name) => {
      const next = (this.#given.get(name) ?? 0) + 1
      this.#given.set(name, next)
      return next
    })
  }

  #lastOf(names: readonly string[]): Promise<number[]> {
    return this.database.read([COUNTERS], (tx) => {
      const counters = tx.objectStore(COUNTERS)
      return Promise.all(names.map(async (name) => Number((await counters.get(name)) ?? 0)))
    })
  }

  /** Writes changes and counters in one transaction. Throws `UniqueViolation` if two rows would share a unique key. */
  async land(changes: readonly Changes[]): Promise<void> {
    const stores = changes.map(({ collection }) => storeOf(collection.name))
    if (this.#given.size > 0) stores.push(COUNTERS)
    if (changes.length > 0) stores.push(SCHEMA_STORE)
    if (stores.length === 0) return
    await this.database.write(stores, async (tx) => {
      await Promise.all(changes.map((each) => checkUnique(tx, each)))
      for (const { collection, rows } of changes) {
        // Plain requests without promises: an error in one of them aborts the transaction.
        const store = unwrap(tx.objectStore(storeOf(collection.name)))
        for (const [id, row] of rows) row ? store.put(row) : store.delete(id)
      }
      for (const [name, last] of this.#given) unwrap(tx.objectStore(COUNTERS)).put(last, name)
      if (changes.length > 0) countCommit(unwrap(tx.objectStore(SCHEMA_STORE)))
    })
  }
}

/** Types a row that was read from the store of a collection. Only rows of that collection are put there. */
const asPut = <R extends Row>(_from: Collection<R>, row: unknown): R => freezeRow(row as R)

/** The range of index keys, or of ids, that a query covers. Undefined if it is empty. */
function rangeOf({ prefix, after, reverse = false }: Query, isIndexed: boolean): IDBKeyRange | undefined {
  // IndexedDB sorts an array after every string.
  let lower: IDBValidKey = [...prefix]
  let upper: IDBValidKey = [...prefix, []]
  const isPast = after !== undefined && (reverse ? isBefore(after, upper) : !isBefore(after, lower))
  if (isPast && reverse) upper = [...after]
  else if (isPast) lower = [...after]
  if (!isIndexed) {
    if (prefix.length > 1) return undefined
    lower = lower[0] ?? Number.NEGATIVE_INFINITY
    upper = upper[0] ?? []
  }
  const openLower = isPast && !reverse
  const openUpper = isPast && reverse
  const order = indexedDB.cmp(lower, upper)
  if (order > 0 || (order === 0 && (openLower || openUpper))) return undefined
  return IDBKeyRange.bound(lower, upper, openLower, openUpper)
}

const isBefore = (a: readonly Key[], b: readonly IDBValidKey[]): boolean => indexedDB.cmp(a, b) < 0
type Source = ReturnType<IDBPTransaction<unknown, string[]>['objectStore']>

async function lastFirst(source: Pick<Source, 'openCursor'>, range: IDBKeyRange, limit: number): Promise<unknown[]> {
  const rows: unknown[] = []
  for (let cursor = await source.openCursor(range, 'prev'); cursor; cursor = await cursor.continue()) {
    rows.push(cursor.value)
    if (rows.length === limit) break
  }
  return rows
}

/** Throws `UniqueViolation` if two rows would share a unique key. A row that is removed or rewritten here frees its old key. */
async function checkUnique(tx: IDBPTransaction<unknown, string[], 'readwrite'>, { collection, rows }: Changes) {
  const store = tx.objectStore(storeOf(collection.name))
  const put = [...rows.values()].filter((row) => row !== null)
  await Promise.all(
    uniqueKeys(collection, put).map(async ({ name, key }) => {
      const holder = await store.index(name).getKey(IDBKeyRange.bound(key, [...key, []]))
      if (holder !== undefined && !(isKey(holder) && rows.has(holder)))
        throw new UniqueViolation(collection.name, name, key)
    }),
  )
}

/** Returns the keys of these rows in the unique indexes. Throws `UniqueViolation` if two rows share one. */
export function uniqueKeys(collection: AnyCollection, rows: readonly Row[]): { name: string; key: Key[] }[] {
  const keys: { name: string; key: Key[] }[] = []
  for (const [name, index] of Object.entries(collection.indexes)) {
    if (!index.unique) continue
    const taken = new Set<string>()
    for (const row of rows) {
      const key = keyOf(index, row)?.slice(0, -1)
      if (!key) continue
      const mark = JSON.stringify(key)
      if (taken.has(mark)) throw new UniqueViolation(collection.name, name, key)
      taken.add(mark)
      keys.push({ name, key })
    }
  }
  return keys
}
