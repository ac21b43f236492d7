import { allRows } from '../page.js'
import { type Collection, collection, type Row, type State, StorageUnavailable, type Writer } from '../storage.js'
import { Transaction } from '../transaction.js'
import { Tables } from './tables.js'

/** A change of stored rows to a newer schema. */
export interface Migration {
  /** The schema that it belongs to. Several migrations may lead to one schema. */
  readonly to: number
  /** What it does, as a sentence for people. */
  readonly what: string
  /** Puts rows of an older release as the schema `to` has them. May run more than once. It has no key for encrypted fields. */
  migrate(tx: Writer): Promise<void>
}

/** The schemas of a state: the one that this release writes, and how older ones become it. */
export interface SchemaHistory {
  readonly current: number
  /** In the order in which they run. A function loads them when an older state needs them. */
  readonly migrations: readonly Migration[] | (() => Promise<readonly Migration[]>)
}

/** For storages whose rows never change their shape. */
export const NO_HISTORY: SchemaHistory = { current: 1, migrations: [] }

/** The first schema. States from before schemas were numbered have it. */
const FIRST = 1

export const schemaOf = ({ schema = FIRST }: Pick<State, 'schema'>): number => schema

/** A newer release wrote this state. Nothing of it was changed. */
export class SchemaNewer extends StorageUnavailable {
  override name = 'SchemaNewer'

  constructor(
    what: string,
    readonly schema: number,
    readonly known: number,
    advice = 'Update farthing to open it.',
  ) {
    super(
      `${what} was written by a newer farthing: schema ${schema}, this one knows up to ${known}. Nothing was changed. ${advice}`,
    )
  }
}

/** The migrations that a state of this schema still needs, in order. `what` names it in the error. Throws `SchemaNewer`. */
export async function pendingMigrations(
  { current, migrations }: SchemaHistory,
  { schema, what }: { readonly schema: number; readonly what: string },
): Promise<readonly Migration[]> {
  if (schema > current) throw new SchemaNewer(what, schema, current)
  if (schema === current) return []
  const all = typeof migrations === 'function' ? await migrations() : migrations
  return all.filter(({ to }) => to > schema)
}

/** Runs migrations, each in its own transaction, over tables that nobody else uses. If one throws, discard the tables. */
export async function migrateTables(tables: Tables, migrations: readonly Migration[]): Promise<void> {
  for (const { migrate } of migrations) {
    const tx = new Transaction(tables)
    await migrate(tx)
    // Not `land`: these collections have no indexes, and the tables would remember that.
    for (const { collection, rows } of tx.changes())
      for (const [id, row] of rows) tables.restore(collection.name, id, row)
  }
}

/** Returns a state in the current schema, and does not change the given one. Throws `SchemaNewer`, and a TypeError. */
export async function migrateState(
  state: State,
  history: SchemaHistory,
  { what = 'This state' }: { readonly what?: string } = {},
): Promise<State> {
  const pending = await pendingMigrations(history, { schema: schemaOf(state), what })
  if (pending.length === 0) return { ...state, schema: history.current }
  const tables = new Tables(structuredClone(state))
  await migrateTables(tables, pending)
  return { ...state, schema: history.current, ...tables.state() }
}

/** A row of an older release: nothing but its id is certain. */
export type OlderRow = Row & Readonly<Record<string, unknown>>

/** A collection as migrations see it. It has no index but `id`, because an older release may have had others. */
export const olderRows = (name: string): Collection<OlderRow, never> => collection<OlderRow>()<never>(name, {})

/** Puts what `change` returns in the place of each row. Rows that it returns as they are stay untouched. */
export async function changeRows(
  tx: Writer,
  from: Collection<OlderRow, never>,
  change: (row: OlderRow) => OlderRow | Promise<OlderRow>,
): Promise<void> {
  const changed: OlderRow[] = []
  for await (const row of allRows(tx, from, { index: 'id', prefix: [] })) {
    const next = await change(row)
    if (next !== row) changed.push(next)
  }
  for (const row of changed) tx.put(from, row)
}

/** The row with these fields where it lacks them. The same row if it has them all. */
export function withMissing(row: OlderRow, fields: Readonly<Record<string, unknown>>): OlderRow {
  const missing = Object.entries(fields).filter(([name]) => row[name] === undefined)
  return missing.length === 0 ? row : { ...row, ...Object.fromEntries(missing) }
}
