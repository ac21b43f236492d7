import { assertKeys } from '../../../../src/storage/key.js'
import { assertState } from '../../../../src/storage/state.js'
import type { AnyCollection, Row, State } from '../../../../src/storage/storage.js'
import { collection as declare } from '../../../../src/storage/storage.js'
import { Tables } from '../../../../src/storage/tables/tables.js'
import type { Session } from '../connection/session.js'
import { putCounters, readCounters } from './counters.js'
import { addTables, tableNames } from './declare.js'
import { Table, type TableSet } from './tables.js'

/** How many rows one statement reads or writes. */
const ROWS_PER_STATEMENT = 1000

/** Reads everything, in the transaction of the session. */
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
  for (;;) {
    const last = rows.at(-1)
    const query = { index: 'id', prefix: [], limit: ROWS_PER_STATEMENT, ...(last && { after: [last.id] }) }
    const piece = await session.query<{ readonly row: Row }>(table.find([query], query))
    for (const { row } of piece) rows.push(row)
    if (piece.length < ROWS_PER_STATEMENT) return rows
  }
}

/** A state that was checked can be put in the place of everything. */
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
  await session.query(putCounters(tables, counters))
  const names = Object.keys(rows).filter((name) => rows[name]?.length)
  await addTables(
    session,
    names.filter((name) => !known.includes(name)).map((name) => tableNamed(tables, name)),
  )
  for (const name of names) {
    const table = tableNamed(tables, name)
    const list = rows[name] ?? []
    for (let at = 0; at < list.length; at += ROWS_PER_STATEMENT)
      await session.query(table.put(list.slice(at, at + ROWS_PER_STATEMENT)))
  }
}

/** The table of a collection. One that was not declared has no indexes. */
const tableNamed = (tables: TableSet, name: string): Table =>
  tables.all.find(({ collection }) => collection.name === name) ?? new Table(tables.schema, declare<Row>()(name, {}))
