import type { AnyCollection, Index, Key, Query, Row } from './storage.js'
import { isObject } from './unknown.js'

/** Sorts after every part of a key, so `[...prefix, AFTER_ALL]` is past all keys that start with the prefix. */
export const AFTER_ALL: unique symbol = Symbol('after all')

export type Bound = readonly (Key | typeof AFTER_ALL)[]

/** Orders whole keys: numbers before strings, a key before its extensions. */
export function compareKeys(a: Bound, b: Bound): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const order = compareParts(a[i] as Bound[number], b[i] as Bound[number]) // Both have so many parts.
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** Orders parts of keys: numbers, then strings by UTF-16 code unit, then `AFTER_ALL`. */
export function compareParts(a: Bound[number], b: Bound[number]): number {
  if (a === b) return 0
  if (typeof a === 'number') return typeof b === 'number' && b < a ? 1 : -1
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : 1
  return b === AFTER_ALL ? -1 : 1
}

/** The index of that name. Undefined for `id`. Throws a TypeError if the collection has no such index. */
export function indexNamed(collection: AnyCollection, name: string): Index<Row> | undefined {
  const index = collection.indexes[name]
  if (index || name === 'id') return index
  throw new TypeError(`${collection.name} has no index ${name}`)
}

/** A row's whole key in an index: its fields, then its id. Undefined if the row is not in that index. */
export function keyOf<R extends Row>(index: Index<R> | undefined, row: R): Key[] | undefined {
  if (!index) return [row.id]
  const key: Key[] = []
  for (const field of index.fields) {
    const part: unknown = row[field]
    if (part === undefined || part === null) return undefined
    if (!isKey(part)) throw unindexable(field)
    key.push(part)
  }
  key.push(row.id)
  return key
}

/** The whole key of a row that was found by an index. Throws a TypeError if the row is not in it. */
export function keyIn<R extends Row>(index: Index<R> | undefined, row: R): Key[] {
  const key = keyOf(index, row)
  if (!key) throw new TypeError(`row ${row.id} is not in the index that found it`)
  return key
}

/** Whether two versions of a row have the same key in an index, or are both absent from it. */
export function sameKey(index: Index<Row> | undefined, a: Row, b: Row): boolean {
  for (const field of index?.fields ?? []) if ((a[field] ?? null) !== (b[field] ?? null)) return false
  return a.id === b.id
}

export function hasPrefix(key: readonly Key[], prefix: readonly Key[]): boolean {
  for (let i = 0; i < prefix.length; i++) if (key[i] !== prefix[i]) return false
  return true
}

/** The rows of a query in key order, with changed rows in their places, and without those past `horizon`. */
export function mergeRows<R extends Row>(
  rows: readonly R[],
  changed: ReadonlyMap<Key, R | null>,
  { index, query, horizon }: { index: Index<Row> | undefined; query: Query; horizon?: readonly Key[] | undefined },
): R[] {
  const { prefix, after, reverse } = query
  const order = (a: readonly Key[], b: readonly Key[]) => (reverse ? -1 : 1) * compareKeys(a, b)
  const keyed = rows.filter(({ id }) => !changed.has(id)).map((row) => ({ row, key: keyIn(index, row) }))
  for (const row of changed.values()) {
    const key = row ? keyOf(index, row) : undefined
    if (!row || !key || !hasPrefix(key, prefix)) continue
    if ((after && order(key, after) <= 0) || (horizon && order(key, horizon) > 0)) continue
    keyed.push({ row, key })
  }
  return keyed.sort((a, b) => order(a.key, b.key)).map(({ row }) => row)
}

/** Throws a TypeError if a row's id or an indexed field cannot be part of a key. */
export function assertKeys(collection: AnyCollection, row: Row): void {
  // What `isKey` says, without a call for each field.
  if (typeof row.id !== 'string' && !Number.isFinite(row.id))
    throw new TypeError(`the id of a row of ${collection.name} must be a string or a finite number`)
  for (const field of indexed.get(collection) ?? indexedFields(collection)) {
    const part: unknown = row[field] ?? ''
    if (typeof part !== 'string' && !Number.isFinite(part)) throw unindexable(`${collection.name}.${field}`)
  }
}

const indexed = new WeakMap<AnyCollection, readonly (keyof Row)[]>()

function indexedFields(collection: AnyCollection): readonly (keyof Row)[] {
  const names = new Set(Object.values(collection.indexes).flatMap(({ fields }) => fields))
  const fields = [...names] as (keyof Row)[] // Indexes name only fields of their collection's rows.
  indexed.set(collection, fields)
  return fields
}

function unindexable(field: string): TypeError {
  return new TypeError(`${field} is indexed, so it must be a string or a finite number`)
}

export const isRow = (value: unknown): value is Row => isObject(value) && isKey(value.id)

/** Whether a value can be part of a key. */
export function isKey(part: unknown): part is Key {
  return typeof part === 'string' || (typeof part === 'number' && Number.isFinite(part))
}

/** Freezes a row deeply. */
export function freezeRow<R extends object>(row: R): R {
  // A frozen object may hold objects that are not frozen, so every level is checked. Parts of arrays have names too.
  for (const name in row) {
    const part = row[name]
    if (typeof part === 'object' && part !== null) freezeRow(part)
  }
  return Object.freeze(row)
}
