import { assertKeys, isRow, keyOf } from './key.js'
import { ROW_DEPTH, whyUnstorable } from './state.js'
import type { AnyCollection, Key, Row, State } from './storage.js'
import { messageOf } from './unknown.js'

/** What is wrong with a state, and in which row. The id is null if the collection itself is wrong. */
export interface Inconsistency {
  readonly collection: string
  readonly id: Key | null
  readonly what: string
}

export interface Schema {
  readonly collections: readonly AnyCollection[]
  /** Names of collections with a counter. Counters that a state has for other collections are checked too. */
  readonly counted: readonly string[]
}

export function findInconsistency(state: State, schema: Schema): Inconsistency | undefined {
  for (const found of inconsistencies(state, schema)) return found
  return undefined
}

/** What is wrong with a state: values, collections, ids, unique keys, counters and references. At most one for each row. */
export function* inconsistencies(
  { rows, counters }: State,
  { collections, counted }: Schema,
): Generator<Inconsistency> {
  const known = new Map(collections.map((collection) => [collection.name, collection]))
  const ids = new Map<string, ReadonlySet<unknown>>()
  const wrong = new Set<unknown>()
  for (const [name, list] of Object.entries(rows)) {
    const collection = known.get(name)
    if (!collection && list.length > 0)
      yield { collection: name, id: null, what: 'this version has no such collection' }
    if (collection)
      for (const [row, found] of rowInconsistencies(collection, list)) {
        wrong.add(row)
        yield found
      }
    ids.set(name, new Set(list.filter(isRow).map(({ id }) => id)))
  }
  for (const [name, list] of Object.entries(rows)) {
    const refs = Object.entries(known.get(name)?.refs ?? {}).flatMap(([field, to]) =>
      to && isForever(known.get(to)) ? [[field, to] as const] : [],
    )
    for (const row of list) {
      if (wrong.has(row)) continue
      const last = Object.hasOwn(counters, name) ? counters[name] : counted.includes(name) ? 0 : undefined
      const what = counterInconsistency(row, last) ?? referenceInconsistency(row, refs, ids)
      if (what !== undefined) yield { collection: name, id: row.id, what }
    }
  }
}

/** The rows are unchecked: a list may hold anything. */
function* rowInconsistencies(
  collection: AnyCollection,
  list: readonly unknown[],
): Generator<readonly [row: unknown, Inconsistency]> {
  const { name: of } = collection
  const ids = new Set<Key>()
  const unique = uniqueIndexes(collection)
  for (const [at, row] of list.entries()) {
    if (!isRow(row)) {
      yield [row, { collection: of, id: null, what: `its row number ${at + 1} has no id` }]
      continue
    }
    const { id } = row
    const what = ids.has(id)
      ? 'another row has this id'
      : (valueFault(row) ?? keyInconsistency(collection, row, unique))
    ids.add(id)
    if (what !== undefined) yield [row, { collection: of, id, what }]
  }
}

function keyInconsistency(collection: AnyCollection, row: Row, unique: ReturnType<typeof uniqueIndexes>) {
  try {
    assertKeys(collection, row)
  } catch (error) {
    return messageOf(error)
  }
  for (const { name, index, holders } of unique) {
    const key = keyOf(index, row)?.slice(0, -1)
    if (!key) continue
    const mark = JSON.stringify(key)
    const holder = holders.get(mark)
    if (holder !== undefined) return `row ${JSON.stringify(holder)} has the same ${index.fields.join(', ')} (${name})`
    holders.set(mark, row.id)
  }
  return undefined
}

const uniqueIndexes = ({ indexes }: AnyCollection) =>
  Object.entries(indexes)
    .filter(([, { unique }]) => unique)
    .map(([name, index]) => ({ name, index, holders: new Map<string, Key>() }))

/** The collection's counter numbers its rows: as ids, or as `number` beside ids that are hashes. */
function counterInconsistency(row: Row & { readonly number?: unknown }, last: number | undefined): string | undefined {
  if (last === undefined) return undefined
  const given = typeof row.id === 'number' ? row.id : row.number
  if (typeof given !== 'number' || given <= last) return undefined
  return `its counter is at ${last}, so ${given} would be used again`
}

/** Whether rows stay. Those of other collections may be gone while a row still names them. */
const isForever = (collection: AnyCollection | undefined): boolean =>
  collection?.retention !== undefined && 'forever' in collection.retention

function referenceInconsistency(
  row: Row,
  refs: readonly (readonly [string, string])[],
  ids: ReadonlyMap<string, ReadonlySet<unknown>>,
): string | undefined {
  const fields: Readonly<Record<string, unknown>> = { ...row }
  for (const [field, to] of refs) {
    const value = fields[field]
    if (value === null || value === undefined || ids.get(to)?.has(value)) continue
    return `its ${field} is ${JSON.stringify(value)}, which is not in ${to}`
  }
  return undefined
}

/** The largest number directly in a row: times are below, and what counts can go on counting. */
const LARGEST = 2 ** 52

/** An end that never comes. It is no number that counts. */
const NEVER = Number.MAX_SAFE_INTEGER

/** What no storage keeps as it is, or no service can go on from, in the values of a row. Undefined if all of it is sound. */
export function valueFault(row: Row): string | undefined {
  const { id } = row
  if (typeof id === 'number' && !(Number.isInteger(id) && id >= 0)) return 'its id is not a whole number from 0 up'
  for (const [field, value] of Object.entries(row)) {
    if (typeof value === 'number' && Math.abs(value) > LARGEST && !(field === 'until' && value === NEVER))
      return `its ${field} is too large a number`
    const what = whyUnstorable(value, ROW_DEPTH)
    if (what !== undefined) return `its ${field} ${what}`
  }
  return undefined
}
