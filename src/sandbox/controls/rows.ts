import { listingRefusals, MOST_REFUSALS } from '../../agents/bazaar/resource-row.js'
import { parsedJson } from '../../base/json.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { AnyCollection, Key, Reader, Row } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'

export type ShownRow = Readonly<Record<string, unknown>>

/** Whether a field could be, or be made into, a credential. */
const isCredential = ({ sealed = {}, secrets = [] }: AnyCollection, field: string): boolean =>
  field in sealed || secrets.includes(field)

/** A row without sealed fields and credentials. */
export function withoutSecrets(collection: AnyCollection, row: Row): ShownRow {
  const shown = ([field, value]: [string, unknown]) => {
    if (!isCredential(collection, field) || value === null || value === undefined) return [field, value]
    // Rows are told apart by the beginning of their ids.
    return [field, field === 'id' ? `${String(value).slice(0, 6)}…` : '…']
  }
  return Object.fromEntries(Object.entries(row).map(shown))
}

export interface RowQuery {
  /** A text that the shown row contains, in any case. */
  readonly q?: string | undefined
  /** Only rows whose field has this value. */
  readonly field?: string | undefined
  readonly value?: string | undefined
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly after?: string | undefined
}

export interface RowPage {
  rows: ShownRow[]
  next: string | null
}

/** How many rows one call looks at. A search through more goes on with `next`. */
const MOST_ROWS_READ = 20_000
const SLICE = 500

/** The collections whose rows can be listed: not those whose ids are credentials. */
export const listedCollections = (service: ServiceContext): readonly AnyCollection[] =>
  sandboxOf(service).collections.filter((collection) => !isCredential(collection, 'id'))

/**
 * Lists the rows of a collection without secrets, in the reverse order of their ids, or of the index that has the field.
 * Throws `not_found`, `cursor_invalid`.
 */
export async function listRows(
  tx: Reader,
  service: ServiceContext,
  name: string,
  { q, field, value, limit = 50, after }: RowQuery,
): Promise<RowPage> {
  const collection = listedCollections(service).find((each) => each.name === name)
  if (!collection) throw problem('not_found', { detail: `No collection has the name "${name}".` })
  const text = q?.toLowerCase()
  const fits = (row: ShownRow) =>
    (field === undefined || String(row[field]) === value) &&
    (text === undefined || JSON.stringify(row).toLowerCase().includes(text))
  const rows: ShownRow[] = []
  let last = after === undefined ? undefined : await rowAt(tx, collection, keyFrom(after))
  for (let read = 0; read < MOST_ROWS_READ; ) {
    const slice = await rowsBefore(tx, collection, { last, field, value })
    for (const row of slice) {
      // One more row than fits would tell that there is another page.
      if (rows.length === limit) return { rows, next: cursorOf(last?.id) }
      const shown = withoutSecrets(collection, row)
      if (fits(shown)) rows.push(shown)
      last = row
    }
    if (slice.length < SLICE) return { rows, next: null }
    read += slice.length
  }
  return { rows, next: cursorOf(last?.id) }
}

/** The row of a cursor. It may be gone, and then its place by id is known, and by no other index. */
const rowAt = async (tx: Reader, collection: AnyCollection, id: Key): Promise<Row> =>
  (await tx.get(collection, id)) ?? { id }

/** The rows past one. Where an index has the field, only those with its value. */
async function rowsBefore(
  tx: Reader,
  collection: AnyCollection,
  { last, field, value }: { last: Row | undefined } & Pick<RowQuery, 'field' | 'value'>,
): Promise<Row[]> {
  const own = field === undefined || value === undefined ? undefined : indexOf(collection, field)
  if (own === undefined || value === undefined)
    return tx.find(collection, {
      index: 'id',
      prefix: [],
      limit: SLICE,
      reverse: true,
      ...(last !== undefined && { after: [last.id] }),
    })
  const rows: Row[] = []
  // A number and its text are different keys, and only the collection knows which it has.
  for (const key of [value, ...(/^\d+$/.test(value) ? [Number(value)] : [])]) {
    const past = last === undefined ? {} : { after: placeIn(own, key, last) }
    rows.push(...(await tx.find(collection, { index: own.name, prefix: [key], limit: SLICE, reverse: true, ...past })))
  }
  return rows
}

interface OwnIndex {
  readonly name: string
  /** The fields after the first. */
  readonly more: readonly string[]
}

function placeIn({ name, more }: OwnIndex, key: Key, row: Row): Key[] {
  if (name === 'id') return [row.id]
  const fields = new Map<string, unknown>(Object.entries(row))
  const keys = more.map((field) => fields.get(field))
  const isKey = (each: unknown): each is Key => typeof each === 'string' || typeof each === 'number'
  if (!keys.every(isKey)) throw problem('cursor_invalid')
  return [key, ...keys, row.id]
}

/** Fields that every row with an index over them has. An index leaves out rows that lack one of its fields. */
const ALWAYS_THERE = new Set(['at', 'created_at', 'dq', 'generation', 'issue', 'number', 'status', 'type'])

/** An index that begins with this field and has all rows. Every collection has one of its ids. */
function indexOf({ indexes }: AnyCollection, field: string): OwnIndex | undefined {
  if (field === 'id') return { name: 'id', more: [] }
  return Object.entries(indexes)
    .map(([name, { fields }]) => ({ name, first: fields[0], more: fields.slice(1) }))
    .filter(({ first, more }) => first === field && more.every((each) => ALWAYS_THERE.has(each)))
    .sort((a, b) => a.more.length - b.more.length)[0]
}

const cursorOf = (id: Key | undefined): string | null => (id === undefined ? null : JSON.stringify(id))

function keyFrom(cursor: string): Key {
  const id = parsedJson(cursor)
  if (typeof id === 'string' || typeof id === 'number') return id
  throw problem('cursor_invalid')
}

/** The last resources that were not listed, and why, the newest first. `at` is ISO 8601. */
export async function refusedListings(tx: Reader) {
  const newest = await tx.find(listingRefusals, { index: 'id', prefix: [], limit: MOST_REFUSALS, reverse: true })
  return newest.map(({ resource, reason, created_at: at }) => ({ resource, reason, at: new Date(at).toISOString() }))
}
