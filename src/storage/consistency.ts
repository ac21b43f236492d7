import { assertKeys, keyOf } from './key.js'
import type { AnyCollection, Key, Row, State } from './storage.js'
import { messageOf } from './unknown.js'

/** What is wrong with a state, and at which row; the id is null where a collection itself is wrong. */
export interface Inconsistency {
  readonly collection: string
  readonly id: Key | null
  readonly what: string
}

export interface Schema {
  readonly collections: readonly AnyCollection[]
  /** Names of those that have a counter of their own; where a state holds one for another, that counts as well. */
  readonly counted: readonly string[]
  /** The collection whose ids a field of any row holds. None of its rows is ever removed. */
  readonly references: Readonly<Record<string, AnyCollection>>
}

/**
 * The first thing for which a schema cannot hold a state: rows that are none, or of no collection, ids and unique keys that
 * occur twice, counters that would give an id again, and references to nothing.
 */
export function findInconsistency(
  { rows, counters }: State,
  { collections, counted, references }: Schema,
): Inconsistency | undefined {
  const known = new Map(collections.map((collection) => [collection.name, collection]))
  const ids = new Map<string, ReadonlySet<unknown>>()
  for (const [name, list] of Object.entries(rows)) {
    const collection = known.get(name)
    if (!collection && list.length > 0)
      return { collection: name, id: null, what: 'this version keeps no such collection' }
    const found = collection && rowInconsistency(collection, list)
    if (found) return found
    ids.set(name, new Set(list.map(({ id }) => id)))
  }
  for (const [name, list] of Object.entries(rows))
    for (const row of list) {
      const last = Object.hasOwn(counters, name) ? counters[name] : counted.includes(name) ? 0 : undefined
      const what = counterInconsistency(row, last) ?? referenceInconsistency(row, references, ids)
      if (what !== undefined) return { collection: name, id: row.id, what }
    }
  return undefined
}

/** Of rows as they come: a list may hold anything. */
function rowInconsistency(collection: AnyCollection, list: readonly unknown[]): Inconsistency | undefined {
  const { name: of } = collection
  const ids = new Set<Key>()
  const unique = uniqueIndexes(collection)
  for (const [at, row] of list.entries()) {
    if (!isRow(row)) return { collection: of, id: null, what: `number ${at + 1} of its rows is no row with an id` }
    const { id } = row
    if (ids.has(id)) return { collection: of, id, what: 'another row has this id' }
    ids.add(id)
    try {
      assertKeys(collection, row)
    } catch (error) {
      return { collection: of, id, what: messageOf(error) }
    }
    for (const { name, index, holders } of unique) {
      const key = keyOf(index, row)?.slice(0, -1)
      if (!key) continue
      const mark = JSON.stringify(key)
      const holder = holders.get(mark)
      if (holder !== undefined)
        return {
          collection: of,
          id,
          what: `row ${JSON.stringify(holder)} has the same ${index.fields.join(', ')} (${name})`,
        }
      holders.set(mark, id)
    }
  }
  return undefined
}

const uniqueIndexes = ({ indexes }: AnyCollection) =>
  Object.entries(indexes)
    .filter(([, { unique }]) => unique)
    .map(([name, index]) => ({ name, index, holders: new Map<string, Key>() }))

function isRow(row: unknown): row is Row {
  if (typeof row !== 'object' || row === null || !('id' in row)) return false
  return typeof row.id === 'string' || (typeof row.id === 'number' && Number.isFinite(row.id))
}

/** Numbers are given by the counter of the collection's name: as ids, or beside ids that are hashes. */
function counterInconsistency(row: Row & { readonly number?: unknown }, last: number | undefined): string | undefined {
  if (last === undefined) return undefined
  const given = typeof row.id === 'number' ? row.id : row.number
  if (typeof given !== 'number' || given <= last) return undefined
  return `its counter stands at ${last}, and would give ${given} again`
}

function referenceInconsistency(
  row: Row,
  references: Schema['references'],
  ids: ReadonlyMap<string, ReadonlySet<unknown>>,
): string | undefined {
  for (const [field, value] of Object.entries(row)) {
    const to = Object.hasOwn(references, field) ? references[field] : undefined
    if (!to || value === null || value === undefined || ids.get(to.name)?.has(value)) continue
    return `its ${field} is ${JSON.stringify(value)}, which ${to.name} does not hold`
  }
  return undefined
}
