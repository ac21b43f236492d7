import type { Replaced } from '../../../../src/storage/storage.js'
import type { Hint } from '../connection/hints.js'
import { ConnectionLost, type Session, type Statement } from '../connection/session.js'
import { puttingCounters } from '../tables/content.js'
import type { Head, TableSet } from '../tables/tables.js'

export interface LandingOptions {
  readonly tables: TableSet
  readonly schema: number
  /** A name that no other process has. */
  readonly process: string
}

/** Begins a transaction with the head, so that no other process commits, and returns its number. Throws `StorageUnavailable`. */
export async function lockCommits(session: Session, { tables, schema }: LandingOptions): Promise<number> {
  const text = `update ${tables.head} set commit = commit + 1 returning commit, schema, layout`
  const [, [head]] = await Promise.all([session.begin(), session.query<Head>({ text })])
  tables.checkHead(head, schema)
  return Number(head?.commit)
}

interface LastOfGroup extends LandingOptions {
  readonly own: number
  readonly counters: Readonly<Record<string, number>>
  readonly hint: Hint | undefined
}

/** Sends statements and COMMIT at once. Resolves when all of it is stored. Rejects with the first error. */
export async function commitGroup(
  session: Session,
  statements: Iterable<Statement>,
  { tables, process, own, counters, hint }: LastOfGroup,
): Promise<void> {
  // One statement, because each takes its time.
  const marked =
    `insert into ${tables.processes} (name, last_group, at) values ($2, $3::int8, now()) ` +
    'on conflict (name) do update set last_group = excluded.last_group, at = excluded.at'
  const counted = `with counted as (${puttingCounters(tables)})`
  const last: Statement = {
    text: hint ? `${counted}, marked as (${marked}) select pg_notify($4, $5)` : `${counted} ${marked}`,
    parameters: [JSON.stringify(counters), process, String(own), ...(hint ? [hint.channel, hint.text] : [])],
  }
  const sent = [...statements, last].map((statement) => session.query(statement))
  const [answer] = await Promise.allSettled([session.run('commit'), ...sent])
  if (session.failure) throw session.failure
  // A transaction that failed answers its COMMIT with ROLLBACK.
  if (answer.status === 'rejected' || answer.value !== 'COMMIT') throw new ConnectionLost('COMMIT was not confirmed')
}

/** Whether a group of this process has landed. Waits until the transaction of a lost connection has ended. */
export async function hasLanded(session: Session, group: number, { tables, process }: LandingOptions) {
  const text = `select last_group from ${tables.processes} where name = $1`
  const [, , [row]] = await Promise.all([
    session.begin(),
    session.query({ text: `select commit from ${tables.head} for update` }),
    session.query<{ readonly last_group: string }>({ text, parameters: [process] }),
  ])
  await session.run('rollback')
  return Number(row?.last_group ?? 0) >= group
}

/** Tells what the commits of this process replaced, and notices that others have committed. */
export class CommitWatch {
  readonly #watchers: ((replaced: Replaced) => void)[] = []
  #told: number | undefined
  #landing: number | undefined

  get isUsed(): boolean {
    return this.#watchers.length > 0
  }

  add(onCommit: (replaced: Replaced) => void): void {
    this.#watchers.push(onCommit)
  }

  /** Call it before anything is read of the state after a commit. */
  notice(commit: number): void {
    if (commit <= (this.#told ?? -1) || commit === this.#landing) return
    if (this.#told !== undefined) this.#tell({ rows: [], isUnknown: true })
    this.#told = commit
  }

  tell(rows: Replaced['rows'], commit: number): void {
    this.#landing = commit
    if (rows.length > 0) this.#tell({ rows })
  }

  tellImport(former: Replaced['former'], commit: number): void {
    this.#landing = commit
    this.#tell({ rows: [], ...(former ? { former } : { isUnknown: true }) })
  }

  /** The commit that was about to land has landed, or it has not. */
  settle(commit: number, hasLanded: boolean): void {
    if (hasLanded) this.#told = Math.max(commit, this.#told ?? 0)
    this.#landing = undefined
  }

  #tell(replaced: Replaced): void {
    for (const onCommit of this.#watchers) onCommit(replaced)
  }
}
