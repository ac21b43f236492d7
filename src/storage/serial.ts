import { OutcomeUnknown, type Reader, type Storage, StorageUnavailable, type Writer } from './storage.js'
import type { Tables } from './tables.js'
import { type Changes, Transaction } from './transaction.js'
import { messageOf } from './unknown.js'

/** Where a serial storage keeps what it commits. */
export interface CommitLog {
  /** Takes a commit in the order given; resolves once it is durable. Throws at once what it cannot write down, and takes nothing. */
  append(commit: Commit): Promise<void>
  /** The tables hold another state altogether; resolves once that is durable. Nothing is appended before. */
  replaced(): Promise<void>
  close(): Promise<void>
}

/** What one write changed, and the last number of each counter that moved. */
export interface Commit {
  readonly changes: readonly Changes[]
  readonly counters: Readonly<Record<string, number>> | undefined
}

export interface SerialOptions {
  /** What kind it is, for the health check. Default `memory`. */
  readonly name?: string
  readonly tables: Tables
  readonly log?: CommitLog
  /** Runs every write's body twice and keeps the second, so that hidden side effects show. */
  readonly rerun?: boolean
}

/**
 * A storage whose rows are all in memory and whose bodies run one after the other.
 * A commit is applied in its turn; its caller, and every reader that saw it, waits for the log outside of the queue.
 */
export function serialStorage({ name = 'memory', tables, log, rerun = false }: SerialOptions): Storage {
  /** Resolves once the last in the queue has had its turn; absent where nobody is in it. */
  let tail: Promise<void> | undefined
  let landed: Promise<void> | undefined
  let group: Promise<void> | undefined
  let broken: StorageUnavailable | undefined
  let closing: Promise<void> | undefined

  /** Runs a job in its turn, then waits until all that it saw and did is durable. */
  async function inTurn<T>(job: () => T | Promise<T>): Promise<T> {
    if (closing) throw new StorageUnavailable('The storage is closed.')
    const before = tail
    let leave = ignore
    const own = new Promise<void>((resolve) => (leave = resolve))
    tail = own
    if (before) await before
    let value: T
    let seen: Promise<void> | undefined
    try {
      if (broken) throw broken
      value = await job()
      seen = landed
    } finally {
      if (tail === own) tail = undefined
      leave()
    }
    if (seen) await seen
    return value
  }

  /** A log that failed leaves memory ahead of the disk: nothing more may be promised on top of it. */
  function keep(durable: Promise<void>): void {
    // Commits that reach the disk together share one promise.
    if (durable === group) return
    group = durable
    landed = durable.catch((cause: unknown) => {
      broken ??= new StorageUnavailable(`The last write could not be kept: ${messageOf(cause)}`, { cause })
      throw broken
    })
    landed.catch(ignore)
  }

  /** Gives whether the log took anything. */
  function land(tx: Transaction): boolean {
    const changes = [...tx.changes()]
    tables.check(changes)
    let isSent = false
    if (log) {
      const counters = tables.moved()
      if (changes.length > 0 || counters) keep(log.append({ changes, counters }))
      tables.keptMoved()
      isSent = changes.length > 0
    }
    tables.land(changes)
    return isSent
  }

  /** What failed on its way into the log may have reached it. */
  async function sending<T>(job: (sent: () => void) => Promise<T>): Promise<T> {
    let isSent = false
    try {
      return await job(() => (isSent = true))
    } catch (error) {
      throw isSent && broken && error === broken ? new OutcomeUnknown(broken.message, { cause: error }) : error
    }
  }

  async function shut(): Promise<void> {
    await tail
    await landed?.catch(ignore)
    await log?.close()
  }

  return {
    name,
    exclusive: true,
    read: <T>(body: (tx: Reader) => Promise<T>) => inTurn(() => body(tables)),
    write: <T>(body: (tx: Writer) => Promise<T>) =>
      sending((sent) =>
        inTurn(async () => {
          let tx = new Transaction(tables)
          let result = await body(tx)
          if (rerun) {
            tx = new Transaction(tables)
            result = await body(tx)
            assertPlain(tx)
          }
          if (land(tx)) sent()
          return result
        }),
      ),
    export: () => inTurn(() => tables.state()),
    import: (state) =>
      sending((sent) =>
        inTurn(async () => {
          tables.load(JSON.parse(JSON.stringify(state)))
          if (log) keep(log.replaced())
          sent()
          // No commit may follow a state that is not on the disk yet.
          await landed
        }),
      ),
    close() {
      closing ??= shut()
      return closing
    },
  }
}

function ignore(): void {}

function assertPlain(tx: Transaction): void {
  for (const { collection, rows } of tx.changes())
    for (const row of rows.values())
      if (JSON.stringify(JSON.parse(JSON.stringify(row))) !== JSON.stringify(row) || !isPlain(row))
        throw new TypeError(`a row of ${collection.name} is not plain JSON: ${JSON.stringify(row)}`)
}

function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false
  return Object.values(value).every(isPlain)
}
