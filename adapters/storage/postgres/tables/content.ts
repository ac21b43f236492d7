import { assertKeys } from '../../../../src/storage/key.js'
import { assertState } from '../../../../src/storage/state.js'
import {
  type AnyCollection,
  collection as declare,
  type Key,
  type Row,
  type State,
} from '../../../../src/storage/storage.js'
import { Tables } from '../../../../src/storage/tables/tables.js'
import type { Session } from '../connection/session.js'
import { type KeyColumn, OWN, quoted, Table, type TableSet } from './tables.js'

const ROWS_PER_STATEMENT = 1000

export async function readContent(session: Session, tables: TableSet, schema: number): Promise<State> {
  const counters = Object.fromEntries(await readCounters(tables, session))
  const names = await filledTables(session, tables, await tableNames(session, tables))
  const lists = await Promise.all(
    names.map(async (name) => [name, await readRows(session, tableNamed(tables, name))] as const),
  )
  return { schema, counters, rows: Object.fromEntries(lists) }
}

/** Which of the tables hold rows. Most of them hold none, and each statement takes its time. */
async function filledTables(session: Session, tables: TableSet, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return []
  const isFilled = names.map((name) => `exists (select from ${tableNamed(tables, name).name})`)
  const [filled] = await session.query<{ readonly filled: string }>({
    text: `select array_to_string(array[${isFilled.join(', ')}]::int[], '') as filled`,
  })
  return names.filter((_, at) => filled?.filled[at] === '1')
}

async function readRows(session: Session, table: Table): Promise<Row[]> {
  const rows: Row[] = []
  for await (const piece of piecesOf(session, table)) rows.push(...piece)
  return rows
}

async function* piecesOf(session: Session, table: Table): AsyncGenerator<Row[]> {
  for (let last: Row | undefined; ; ) {
    const query = { index: 'id', prefix: [], limit: ROWS_PER_STATEMENT, ...(last && { after: [last.id] }) }
    const found = await session.query<{ readonly row: Row }>(table.find([query], query))
    yield found.map(({ row }) => row)
    if (found.length < ROWS_PER_STATEMENT) return
    last = found.at(-1)?.row
  }
}

export function checkContent(state: State, collections: readonly AnyCollection[]): void {
  assertState(state)
  for (const each of collections) for (const row of state.rows[each.name] ?? []) assertKeys(each, row)
  new Tables(state).checkUniqueKeys(collections)
}

/** Puts a state in the place of everything, in the transaction of the session. */
export async function writeContent(session: Session, tables: TableSet, { counters, rows }: State): Promise<void> {
  const known = await tableNames(session, tables)
  // Not TRUNCATE: who reads an older snapshot would see no rows.
  const filled = await filledTables(session, tables, known)
  const emptied = [tables.counters, ...filled.map((name) => tableNamed(tables, name).name)]
  await session.run(emptied.map((name) => `delete from ${name}`).join('; '))
  await session.query({ text: puttingCounters(tables), parameters: [JSON.stringify(counters)] })
  const names = Object.keys(rows).filter((name) => rows[name]?.length)
  const unknown = names.filter((name) => !known.includes(name))
  await addTables(
    session,
    unknown.map((name) => tableNamed(tables, name)),
  )
  for (const name of names) {
    const table = tableNamed(tables, name)
    const list = rows[name] ?? []
    for (let at = 0; at < list.length; at += ROWS_PER_STATEMENT)
      await session.query(table.put(list.slice(at, at + ROWS_PER_STATEMENT)))
  }
}

const tableNamed = (tables: TableSet, name: string): Table =>
  tables.all.find(({ collection }) => collection.name === name) ?? new Table(tables.schema, declare<Row>()(name, {}))

/** Half-empty pages let a row change in its place. */
const ROOM = 'with (fillfactor = 70)'

export async function createOwnTables(session: Session, tables: TableSet, schema: number): Promise<void> {
  const { head, counters, processes } = tables
  await session.run(
    `create schema if not exists ${quoted(tables.schema)}; ` +
      `create table ${head} (one boolean primary key default true check (one), ` +
      `commit int8 not null, schema int4 not null, layout text not null) ${ROOM}; ` +
      `create table ${counters} (name text primary key, last int8 not null) ${ROOM}; ` +
      `create table ${processes} (name text primary key, last_group int8 not null, at timestamptz not null) ${ROOM}`,
  )
  const text = `insert into ${head} (commit, schema, layout) values (0, $1::int4, '')`
  await session.query({ text, parameters: [String(schema)] })
}

/** Creates the tables of new collections, and the columns of new indexes. Removes the columns of former ones. */
export async function declareTables(session: Session, tables: TableSet): Promise<void> {
  const columns = await columnsOf(session, tables.schema)
  const missing = tables.all.filter(({ collection }) => !columns.has(collection.name))
  await addTables(session, missing)
  for (const table of tables.all) {
    const found = columns.get(table.collection.name)
    if (!found) continue
    const added = table.columns.filter(({ name }) => !found.has(name))
    for (const name of found)
      if (name !== 'id' && name !== 'row' && !table.columns.some((column) => column.name === name))
        await session.run(`alter table ${table.name} drop column ${quoted(name)}`)
    if (added.length === 0) continue
    const columnsAdded = added.map(({ name }) => `add column ${quoted(name)} bytea`)
    await session.run(`alter table ${table.name} ${columnsAdded.join(', ')}`)
    // Putting a row writes all of its keys.
    for await (const rows of piecesOf(session, table)) if (rows.length > 0) await session.query(table.put(rows))
    await session.run(added.map((column) => indexOn(table, column)).join('; '))
  }
}

/** Creates the tables of collections, unless they are there. One call, because there are many tables and indexes. */
async function addTables(session: Session, tables: readonly Table[]): Promise<void> {
  const statements = tables.flatMap((table) => [
    `create table if not exists ${table.name} (id bytea primary key, row json not null${keysOf(table)}) ${ROOM}`,
    ...table.columns.map((column) => indexOn(table, column)),
  ])
  if (statements.length > 0) await session.run(statements.join('; '))
}

const keysOf = ({ columns }: Table): string => columns.map(({ name }) => `, ${quoted(name)} bytea`).join('')
const indexOn = ({ name }: Table, column: KeyColumn): string => `create index on ${name} (${quoted(column.name)})`

export const tableNames = async (session: Session, { schema }: TableSet): Promise<string[]> =>
  [...(await columnsOf(session, schema)).keys()].filter((name) => !Object.values<string>(OWN).includes(name)).sort()

export async function columnsOf(session: Session, schema: string): Promise<Map<string, Set<string>>> {
  // The view of the standard, information_schema.columns, takes many times as long.
  const text =
    'select c.relname as "table", a.attname as "column" from pg_catalog.pg_attribute a ' +
    'join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace ' +
    "where n.nspname = $1 and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped"
  const rows = await session.query<{ readonly table: string; readonly column: string }>({ text, parameters: [schema] })
  const columns = new Map<string, Set<string>>()
  for (const { table, column } of rows) columns.set(table, (columns.get(table) ?? new Set()).add(column))
  return columns
}

/** The last number of each counter. Only whoever holds the head may use up numbers. */
export class Counters {
  readonly #last: Map<string, number>
  readonly #moved = new Set<string>()

  constructor(last: Iterable<readonly [string, number]> = []) {
    this.#last = new Map(last)
  }

  next(of: readonly string[]): number[] {
    return of.map((name) => {
      const next = (this.#last.get(name) ?? 0) + 1
      this.#last.set(name, next)
      this.#moved.add(name)
      return next
    })
  }

  /** Counters that go on from here, for bodies whose numbers nobody will see. */
  copy(): Counters {
    return new Counters(this.#last)
  }

  get haveMoved(): boolean {
    return this.#moved.size > 0
  }

  get moved(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#moved].map((name) => [name, this.#last.get(name) ?? 0]))
  }

  kept(): void {
    this.#moved.clear()
  }
}

/** The ids that a body drew. No row has one of them yet. */
export class DrawnIds {
  readonly #drawn = new Set<string>()

  note(of: readonly string[], ids: number[]): number[] {
    for (const [at, name] of of.entries()) this.#drawn.add(`${name} ${ids[at]}`)
    return ids
  }

  has({ name }: AnyCollection, id: Key): boolean {
    return typeof id === 'number' && this.#drawn.has(`${name} ${id}`)
  }
}

/** Stores the counters of a JSON object, which is the first parameter. */
export const puttingCounters = ({ counters }: TableSet): string =>
  `insert into ${counters} (name, last) select key, value::int8 from json_each_text($1::text::json) ` +
  'on conflict (name) do update set last = excluded.last'

export async function readCounters({ counters }: TableSet, session: Session): Promise<[string, number][]> {
  const text = `select name, last from ${counters} order by name collate "C"`
  const rows = await session.query<{ readonly name: string; readonly last: string }>({ text })
  return rows.map(({ name, last }) => [name, Number(last)])
}
