import { indexNamed, keyOf } from '../../../../src/storage/key.js'
import {
  type AnyCollection,
  type Index,
  type Key,
  type Query,
  type Row,
  StorageUnavailable,
} from '../../../../src/storage/storage.js'
import type { Statement } from '../connection/session.js'

export class TableSet {
  readonly all: readonly Table[]
  /** One row: the last commit, and the release of the tables. Groups of all processes take their number here, one after another. */
  readonly head: string
  readonly counters: string
  /** The last group of each process. Whoever lost the answer to a COMMIT asks here whether its group landed. */
  readonly processes: string
  /** The declared collections with their indexes. Processes with other declarations may not use the same tables. */
  readonly layout: string
  readonly #byName: ReadonlyMap<string, Table>

  constructor(
    readonly schema: string,
    collections: readonly AnyCollection[],
  ) {
    this.all = collections.map((collection) => new Table(schema, collection))
    this.#byName = new Map(this.all.map((table) => [table.collection.name, table]))
    this.head = qualified(schema, OWN.head)
    this.counters = qualified(schema, OWN.counters)
    this.processes = qualified(schema, OWN.processes)
    const declared = collections.map(({ name, indexes }) => [
      name,
      Object.values(indexes).map(({ fields }) => fields.join(', ')),
    ])
    this.layout = JSON.stringify(declared.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
  }

  /** Throws a TypeError if the collection was not declared. */
  of({ name }: AnyCollection): Table {
    const table = this.#byName.get(name)
    if (!table) throw new TypeError(`The database has no collection ${name}: name it among \`collections\`.`)
    return table
  }

  /** Throws `StorageUnavailable` if the tables are for a different release now. */
  checkHead(head: Pick<Head, 'schema' | 'layout'> | undefined, current: number): void {
    if (Number(head?.schema) === current && head?.layout === this.layout) return
    throw new StorageUnavailable(
      'Another version of farthing has changed the tables of this database. Restart this process with that version.',
      { reason: 'another version of the service has changed the database' },
    )
  }
}

export const OWN = { head: '_head', counters: '_counters', processes: '_processes' } as const

/** The row of the head. Numbers are texts, because they have 64 bits. */
export type Head = { readonly commit: string; readonly schema: string; readonly layout: string }

/** A column that holds the whole key of each row in an index. Indexes over the same fields share it. */
export type KeyColumn = { readonly name: string; readonly index: Index<Row> }

/** PostgreSQL cuts longer names off. */
const LONGEST_NAME = 63

/** The table of one collection: its rows as JSON, by their encoded ids, with a column for each index. */
export class Table {
  readonly name: string
  readonly columns: readonly KeyColumn[]
  /** Indexes that hold each key once, with their names. */
  readonly unique: readonly (readonly [name: string, index: Index<Row>])[]
  readonly #put: string
  readonly #finds = new Map<string, string>()

  /** Throws a TypeError if PostgreSQL would cut off a name. */
  constructor(
    schema: string,
    readonly collection: AnyCollection,
  ) {
    this.name = qualified(schema, collection.name)
    const columns = new Map(
      Object.values(collection.indexes).map((index) => [columnName(index), { name: columnName(index), index }]),
    )
    this.columns = [...columns.values()]
    for (const name of [collection.name, ...columns.keys()])
      if (Buffer.byteLength(name) > LONGEST_NAME)
        throw new TypeError(`PostgreSQL allows no name of more than ${LONGEST_NAME} bytes: ${name}`)
    this.unique = Object.entries(collection.indexes).filter(([, { unique }]) => unique)
    const keys = this.columns.map(({ name }) => quoted(name))
    const names = ['id', 'row', ...keys]
    const arrays = names.map((name, i) => `$${i + 1}::${name === 'row' ? 'json' : 'bytea'}[]`)
    const changed = names.slice(1).map((name) => `${name} = excluded.${name}`)
    this.#put =
      `insert into ${this.name} (${names.join(', ')}) select * from unnest(${arrays.join(', ')}) ` +
      `on conflict (id) do update set ${changed.join(', ')}`
  }

  getMany(ids: Iterable<Key>): Statement {
    const text = `select row from ${this.name} where id = any($1::bytea[])`
    return { text, parameters: [keyArray([...ids].map((id) => encodeKey([id])))] }
  }

  put(rows: readonly Row[]): Statement {
    const keys = this.columns.map(({ index }) =>
      keyArray(rows.map((row) => keyOf(index, row)).map((key) => key && encodeKey(key))),
    )
    const ids = rows.map(({ id }) => encodeKey([id]))
    return { text: this.#put, parameters: [keyArray(ids), textArray(rows.map((row) => JSON.stringify(row))), ...keys] }
  }

  remove(ids: readonly Key[]): Statement {
    const text = `delete from ${this.name} where id = any($1::bytea[])`
    return { text, parameters: [keyArray(ids.map((id) => encodeKey([id])))] }
  }

  /** Runs queries of one index and direction. Answers rows with `n`, the number of their query from 1 up, in key order in each. */
  find(queries: readonly Query[], { index, reverse = false }: Pick<Query, 'index' | 'reverse'>): Statement {
    const ranges = queries.map(rangeOf)
    return {
      text: this.#findText(index, reverse),
      parameters: [
        keyArray(ranges.map(({ from }) => from)),
        keyArray(ranges.map(({ to }) => to)),
        `{${queries.map(({ limit }) => Math.min(limit, Number.MAX_SAFE_INTEGER)).join(',')}}`,
      ],
    }
  }

  /** Fails with `division_by_zero` if two rows have one of these keys of a unique index, without their ids. */
  checkUnique(indexName: string, keys: readonly EncodedKey[]): Statement {
    const key = this.#columnOf(indexName)
    return {
      text:
        `select 1 / (not exists (select from unnest($1::bytea[], $2::bytea[]) as q (low, high), ` +
        `lateral (select from ${this.name} where ${key} >= q.low and ${key} < q.high offset 1 limit 1) as r))::int`,
      parameters: [keyArray(keys), keyArray(keys.map((each) => each + PAST_PARTS))],
    }
  }

  #columnOf(indexName: string): string {
    const index = indexNamed(this.collection, indexName)
    return index ? quoted(columnName(index)) : 'id'
  }

  #findText(indexName: string, reverse: boolean): string {
    const key = this.#columnOf(indexName)
    const order = reverse ? 'desc' : 'asc'
    const name = `${key} ${order}`
    const text =
      this.#finds.get(name) ??
      `select q.n, r.row from unnest($1::bytea[], $2::bytea[], $3::int8[]) with ordinality as q (low, high, most, n), ` +
        `lateral (select row, ${key} as key from ${this.name} where ${key} >= q.low and ${key} < q.high ` +
        `order by ${key} ${order} limit q.most) as r order by q.n, r.key ${order}`
    this.#finds.set(name, text)
    return text
  }
}

const columnName = ({ fields }: Index<Row>): string => `by ${fields.join(', ')}`
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const qualified = (schema: string, name: string): string => `${quoted(schema)}.${quoted(name)}`

/** The keys that a query covers, from the first up to the place past the last. */
function rangeOf({ prefix, after, reverse }: Query): { from: EncodedKey; to: EncodedKey } {
  const from = encodeKey(prefix)
  const to = pastKeys(prefix)
  const last = after && reverse ? encodeKey(after) : to
  const first = after && !reverse ? justAfter(after) : from
  return { from: first > from ? first : from, to: last < to ? last : to }
}

/** An array of `bytea`, with NULL for each key that is missing. */
const keyArray = (keys: readonly (EncodedKey | undefined)[]): string =>
  `{${keys.map((key) => (key === undefined ? 'NULL' : `"\\\\x${key}"`)).join(',')}}`

const textArray = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/**
 * A key as bytes, in hexadecimal digits. Encoded keys, and the bytes that they stand for, are in the order of the keys:
 * numbers by value, then strings by UTF-16 code unit, and a key before its extensions.
 */
export type EncodedKey = string

// Each part begins with what it is.
const NUMBER = '01'
const STRING = '02'
/** No part begins with a byte from this on. */
const PAST_PARTS = '03'
/** Ends a string. The code unit 0 is `ESCAPED`, so a string comes before its extensions. */
const END = '00'
const ESCAPED = '00ff'
export const encodeKey = (parts: readonly Key[]): EncodedKey => parts.map(encodePart).join('')
/** The first place past all keys that begin with these parts. */
export const pastKeys = (parts: readonly Key[]): EncodedKey => encodeKey(parts) + PAST_PARTS
/** The first place after a key. */
export const justAfter = (parts: readonly Key[]): EncodedKey => `${encodeKey(parts)}00`

const encodePart = (part: Key): EncodedKey =>
  typeof part === 'number' ? NUMBER + encodeNumber(part) : STRING + encodeString(part) + END

const bits = new DataView(new ArrayBuffer(8))

/** The bits of a double are in the order of positive numbers. Those of negative ones are in reverse. */
function encodeNumber(number: number): EncodedKey {
  bits.setFloat64(0, number + 0) // -0 is the same key as 0.
  const [high, low] = [bits.getUint32(0), bits.getUint32(4)]
  const isNegative = high >>> 31 === 1
  return hex32(isNegative ? ~high : high ^ 0x80000000) + hex32(isNegative ? ~low : low)
}

const hex32 = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are one byte each.
const ASCII = /^[\x01-\x7f]*$/

/** Code unit by code unit in the pattern of UTF-8: whole characters beyond U+FFFF would come after U+E000 to U+FFFF. */
function encodeString(text: string): EncodedKey {
  if (ASCII.test(text)) return Buffer.from(text, 'latin1').toString('hex')
  let encoded = ''
  for (let i = 0; i < text.length; i++) encoded += encodeUnit(text.charCodeAt(i))
  return encoded
}

function encodeUnit(unit: number): EncodedKey {
  if (unit === 0) return ESCAPED
  if (unit < 0x80) return unit.toString(16).padStart(2, '0')
  const last = 0x80 | (unit & 0x3f)
  if (unit < 0x800) return ((0xc0 | (unit >> 6)) * 0x100 + last).toString(16)
  return ((0xe0 | (unit >> 12)) * 0x10000 + (0x80 | ((unit >> 6) & 0x3f)) * 0x100 + last).toString(16)
}
