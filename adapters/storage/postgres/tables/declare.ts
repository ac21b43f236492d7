import type { Row } from '../../../../src/storage/storage.js'
import type { Session } from '../connection/session.js'
import { type KeyColumn, OWN, quoted, type Table, type TableSet } from './tables.js'

/** Half-empty pages let a row change in its place. */
const ROOM = 'with (fillfactor = 70)'

/** Creates the tables that hold no collection, with the head of an empty storage. */
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
    await putAgain(session, table)
    await session.run(added.map((column) => indexOn(table, column)).join('; '))
  }
}

/** Creates the tables of collections, unless they are there. One call, because there are many tables and indexes. */
export async function addTables(session: Session, tables: readonly Table[]): Promise<void> {
  const statements = tables.flatMap((table) => [
    `create table if not exists ${table.name} (id bytea primary key, row json not null${keysOf(table)}) ${ROOM}`,
    ...table.columns.map((column) => indexOn(table, column)),
  ])
  if (statements.length > 0) await session.run(statements.join('; '))
}

const keysOf = ({ columns }: Table): string => columns.map(({ name }) => `, ${quoted(name)} bytea`).join('')

const indexOn = ({ name }: Table, column: KeyColumn): string => `create index on ${name} (${quoted(column.name)})`

/** Fills new columns: putting a row writes all of its keys. */
async function putAgain(session: Session, table: Table): Promise<void> {
  let last: Row | undefined
  do {
    const query = { index: 'id', prefix: [], limit: 1000, ...(last && { after: [last.id] }) }
    const found = await session.query<{ readonly row: Row }>(table.find([query], query))
    const rows = found.map(({ row }) => row)
    if (rows.length > 0) await session.query(table.put(rows))
    last = rows.at(-1)
  } while (last)
}

/** The names of the collections that have a table, in order. */
export async function tableNames(session: Session, { schema }: TableSet): Promise<string[]> {
  const text =
    'select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace ' +
    "where n.nspname = $1 and c.relkind = 'r'"
  const found = await session.query<{ readonly name: string }>({ text, parameters: [schema] })
  const names = found.map(({ name }) => name)
  return names.filter((name) => !Object.values<string>(OWN).includes(name)).sort()
}

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
