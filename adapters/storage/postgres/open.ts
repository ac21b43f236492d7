import { migrateState, type SchemaHistory, SchemaNewer } from '../../../src/storage/tables/migration.js'
import type { Database } from './connection/database.js'
import { codeOf, DatabaseRefused, whyRefused } from './connection/errors.js'
import type { Session } from './connection/session.js'
import { columnsOf, createOwnTables, declareTables, readContent, tableNames, writeContent } from './tables/content.js'
import { type Head, OWN, qualified, quoted, type TableSet } from './tables/tables.js'

export interface OpenOptions {
  readonly database: Database
  /** The address, as messages show it: without the password. */
  readonly address: string
  readonly tables: TableSet
  readonly history: SchemaHistory
}

/** Two processes created the same schema or table at once. */
const MADE_TWICE = ['23505', '42P06', '42P07']

/** Creates what is missing and migrates older rows, alone. Returns the connection. Throws `DatabaseRefused` and `SchemaNewer`. */
export async function prepareDatabase(options: OpenOptions): Promise<Session> {
  const { database, address, tables, history } = options
  const session = await database.connect().catch((error: unknown) => {
    throw whyRefused(error, address)
  })
  try {
    await checkEncoding(session, address)
    for (let attempt = 1; !(await isThere(session, options)); attempt++) {
      try {
        await session.begin()
        await createOwnTables(session, tables, history.current)
        await session.run('commit')
      } catch (error) {
        await session.run('rollback')
        if (attempt === 3 || !MADE_TWICE.includes(codeOf(error))) throw error
      }
    }
    await session.begin()
    await bringUpToDate(session, options)
    await session.run('commit')
    return session
  } catch (error) {
    await session.close()
    throw whyRefused(error, address)
  }
}

/** Whether the schema holds a storage. Throws `DatabaseRefused` if it holds something else. */
async function isThere(session: Session, { tables: { schema }, address }: OpenOptions): Promise<boolean> {
  const columns = await columnsOf(session, schema)
  const head = columns.get(OWN.head)
  if (head && ['commit', 'schema', 'layout'].every((name) => head.has(name))) return true
  if (columns.size === 0) return false
  throw new DatabaseRefused(
    `the schema ${schema} of ${address} holds something else than the tables of farthing: choose another database`,
  )
}

async function checkEncoding(session: Session, address: string): Promise<void> {
  const [found] = await session.query<{ readonly server_encoding: string }>({ text: 'show server_encoding' })
  const encoding = found?.server_encoding ?? 'UTF8'
  // SQL_ASCII stores the bytes of UTF-8 as they are.
  if (encoding !== 'UTF8' && encoding !== 'SQL_ASCII')
    throw new DatabaseRefused(
      `${address} stores text as ${encoding}, which lacks characters: create the database with the encoding UTF8`,
    )
}

/** Changes the tables for this release. No other process reads or writes them until the transaction ends. */
async function bringUpToDate(session: Session, { tables, history, address }: OpenOptions): Promise<void> {
  const [head] = await session.query<Head>({
    text: `update ${tables.head} set commit = commit + 1 returning commit, schema, layout`,
  })
  const schema = Number(head?.schema)
  if (schema > history.current) throw new SchemaNewer(address, schema, history.current)
  if (schema < history.current) {
    await copyOlder(session, tables, schema)
    const older = await readContent(session, tables, schema)
    const state = await migrateState(older, history, { what: address })
    await declareTables(session, tables)
    await writeContent(session, tables, state)
  } else if (head?.layout !== tables.layout) await declareTables(session, tables)
  await session.query({
    text: `update ${tables.head} set schema = $1::int4, layout = $2`,
    parameters: [String(history.current), tables.layout],
  })
  await session.run(`delete from ${tables.processes} where at < now() - interval '7 days'`)
}

/** Puts a copy of older rows into a schema of its own, such as `farthing_v2`, and removes copies of still older ones. */
async function copyOlder(session: Session, tables: TableSet, schema: number): Promise<void> {
  for (let older = 1; older <= schema; older++)
    await session.run(`drop schema if exists ${quoted(`${tables.schema}_v${older}`)} cascade`)
  const to = `${tables.schema}_v${schema}`
  await session.run(`create schema ${quoted(to)}`)
  for (const name of [...(await tableNames(session, tables)), ...Object.values(OWN)])
    await session.run(
      `create table ${qualified(to, name)} (like ${qualified(tables.schema, name)} including all); ` +
        `insert into ${qualified(to, name)} select * from ${qualified(tables.schema, name)}`,
    )
}
