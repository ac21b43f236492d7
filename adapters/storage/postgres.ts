import { randomUUID } from 'node:crypto'
import { collections as all, schemaHistory } from '../../src/core.js'
import { copyState, latestOf } from '../../src/storage/state.js'
import {
  type AnyCollection,
  type ImportOptions,
  type Reader,
  type State,
  type Storage,
  StorageClosed,
  type Writer,
} from '../../src/storage/storage.js'
import { migrateState, type SchemaHistory } from '../../src/storage/tables/migration.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { Database, KeptSession } from './postgres/connection/database.js'
import { addressIn } from './postgres/connection/errors.js'
import { Hints } from './postgres/connection/hints.js'
import { GroupCommit } from './postgres/groups/group-commit.js'
import { CommitWatch } from './postgres/groups/landing.js'
import { ReadGroups } from './postgres/groups/read-groups.js'
import { GatheredReads, View } from './postgres/groups/view.js'
import { prepareDatabase } from './postgres/open.js'
import { checkContent, readContent, readCounters, writeContent } from './postgres/tables/content.js'
import { type Head, TableSet } from './postgres/tables/tables.js'

export { DatabaseRefused } from './postgres/connection/errors.js'

export interface PostgresStorageOptions {
  /**
   * The database: `postgres://user:password@host:5432/name`. `?sslmode=require` encrypts the connection. What is missing
   * comes from the variables that `psql` reads, such as `PGPASSWORD`.
   */
  url: string
  /** The schema of the database that holds the tables. Created if missing. Default: `farthing`. */
  schema?: string
  /** Every collection to read or write, with its indexes. Default: the service's collections. */
  collections?: readonly AnyCollection[]
  /** How long calls wait for a database that cannot be reached, in ms. Default: 10 000. */
  patience?: number
  /** Whether other processes use the database too. Then no process may take the state back under them. Default: true. */
  shared?: boolean
  /**
   * Whether processes tell each other of commits, with `NOTIFY` and `LISTEN`. Turn it off for a database that lacks them:
   * the processes then hear of each other only when they read. Default: true.
   */
  hints?: boolean
  /** The schemas of the rows. Default: the service's. */
  history?: SchemaHistory
}

/**
 * Stores rows in PostgreSQL. Many processes may use one database: their writes land in one serial order. The writes that
 * wait in a process land together, so a commit costs the less the more there are.
 * Creates the tables, and migrates rows of an older release after it has put a copy into the schema `<schema>_v<N>`.
 * Rejects with `DatabaseRefused` if the database cannot be used, and with `SchemaNewer` if a newer release wrote it.
 * Calls wait while the database cannot be reached, then reject with `StorageUnavailable`. If the connection is lost
 * during a commit, the storage asks the database whether it landed. It rejects with `OutcomeUnknown` only if it gets no
 * answer.
 */
export async function postgresStorage({
  url,
  schema = 'farthing',
  collections = all,
  patience = 10_000,
  shared = true,
  hints: areTold = true,
  history = schemaHistory,
}: PostgresStorageOptions): Promise<Storage> {
  const address = addressIn(url)
  const tables = new TableSet(schema, collections)
  const database = new Database(url, patience)
  const session = await prepareDatabase({ database, address, tables, history })
  const process = randomUUID()
  const watch = new CommitWatch()
  const hints = areTold ? new Hints(database, schema, process) : undefined
  const landing = { database, tables, schema: history.current, process, watch, hints }
  const reads = new ReadGroups(landing)
  const groups = new GroupCommit(landing, session)
  const counting = new KeptSession(database)
  const exporting = new KeptSession(database)
  const whole = { tables, database, exporting, groups, watch, collections, history, shared }
  const exportNext = inTurn(() => exportState(whole))
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  async function track<T>(job: () => Promise<T>): Promise<T> {
    if (closing) throw new StorageClosed()
    const done = job()
    running.add(done)
    try {
      return await done
    } finally {
      running.delete(done)
    }
  }

  async function countCommits(): Promise<number> {
    const text = `select commit from ${tables.head}`
    const [head] = await (await counting.get()).query<Head>({ text, parameters: [] })
    return Number(head?.commit)
  }

  async function shut(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running)
    database.close()
    await Promise.all([groups, reads, hints, counting, exporting].map((each) => each?.close()))
  }

  return {
    name: 'postgres',
    exclusive: false,
    isShared: shared,
    countCommits: () => track(() => database.patiently(countCommits)),
    watchCommits: (onCommit) => watch.add(onCommit),
    noticeOthers: () => reads.noticeOthers(),
    ...(hints && { watchOthers: (onCommit) => hints.watch(onCommit) }),
    get fault() {
      return database.fault
    },
    read: <T>(body: (tx: Reader) => Promise<T>) => track(() => reads.read(body)),
    write: <T>(body: (tx: Writer) => Promise<T>) => track(() => groups.write(body)),
    export: () => track(exportNext),
    import: (state, options) => track(() => importState(whole, state, options)),
    close: () => (closing ??= shut()),
  }
}

interface WholeState {
  readonly tables: TableSet
  readonly database: Database
  readonly exporting: KeptSession
  readonly groups: GroupCommit
  readonly watch: CommitWatch
  readonly collections: readonly AnyCollection[]
  readonly history: SchemaHistory
  readonly shared: boolean
}

const exportState = ({ database, exporting, tables, history }: WholeState): Promise<State> =>
  database.patiently(async () => {
    const session = await exporting.get()
    try {
      await session.begin('isolation level repeatable read read only')
      return await readContent(session, tables, history.current)
    } finally {
      if (!session.isLost) await session.run('rollback').catch(() => {})
    }
  })

async function importState(
  { tables, groups, watch, collections, history, shared }: WholeState,
  given: State,
  { keepsNumbers = false, check }: ImportOptions = {},
): Promise<void> {
  checkContent(given, [])
  const state = await migrateState(copyState(given), history)
  checkContent(state, collections)
  await groups.alone(async (session, commit) => {
    await check?.(new View(new GatheredReads(tables, session)))
    const counters = keepsNumbers ? Object.fromEntries(await readCounters(tables, session)) : {}
    // Nobody goes back in a shared storage, so the former state need not be read.
    const isNeeded = !shared && watch.isUsed
    const former = isNeeded ? new Tables(await readContent(session, tables, history.current)) : undefined
    watch.tellImport(former, commit)
    await writeContent(session, tables, { ...state, counters: latestOf(state.counters, counters) })
  })
}

/** The same, one after the other. */
function inTurn<T>(job: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const done = last.then(job)
    last = done.catch(() => {})
    return done
  }
}
