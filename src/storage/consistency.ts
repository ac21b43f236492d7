import { assertKeys, keyOf } from './key.js'
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
  /** Which collection's ids a field holds, by the field's name. Rows of these collections are never removed. */
  readonly references: Readonly<Record<string, AnyCollection>>
}

/**
 * Finds the first inconsistency of a state: values that are not rows, unknown collections, repeated ids and unique
 * keys, counters that would repeat an id, and references to missing rows.
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
      return { collection: name, id: null, what: 'this version has no such collection' }
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

/** The rows are unchecked: a list may hold anything. */
function rowInconsistency(collection: AnyCollection, list: readonly unknown[]): Inconsistency | undefined {
  const { name: of } = collection
  const ids = new Set<Key>()
  const unique = uniqueIndexes(collection)
  for (const [at, row] of list.entries()) {
    if (!isRow(row)) return { collection: of, id: null, what: `its row number ${at + 1} has no id` }
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

/** The collection's counter numbers its rows: as ids, or as `number` beside ids that are hashes. */
function counterInconsistency(row: Row & { readonly number?: unknown }, last: number | undefined): string | undefined {
  if (last === undefined) return undefined
  const given = typeof row.id === 'number' ? row.id : row.number
  if (typeof given !== 'number' || given <= last) return undefined
  return `its counter is at ${last}, so ${given} would be used again`
}

function referenceInconsistency(
  row: Row,
  references: Schema['references'],
  ids: ReadonlyMap<string, ReadonlySet<unknown>>,
): string | undefined {
  for (const [field, value] of Object.entries(row)) {
    const to = Object.hasOwn(references, field) ? references[field] : undefined
    if (!to || value === null || value === undefined || ids.get(to.name)?.has(value)) continue
    return `its ${field} is ${JSON.stringify(value)}, which is not in ${to.name}`
  }
  return undefined
}
