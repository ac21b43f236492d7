import { OutcomeUnknown, type Reader, type Storage, StorageUnavailable, type Writer } from './storage.js'
import type { Tables } from './tables.js'
import { type Changes, Transaction } from './transaction.js'
import { messageOf } from './unknown.js'

/** Where a serial storage writes its commits. */
export interface CommitLog {
  /**
   * Appends a commit, in the order of the calls. Resolves when it is durable. Throws synchronously, and appends
   * nothing, if it cannot write the commit.
   */
  append(commit: Commit): Promise<void>
  /** The tables hold a different state. Resolves when that is durable. Nothing is appended before. */
  replaced(): Promise<void>
  close(): Promise<void>
}

/** What one write changed, and the last number of each counter that moved. */
export interface Commit {
  readonly changes: readonly Changes[]
  readonly counters: Readonly<Record<string, number>> | undefined
}

export interface SerialOptions {
  /** The kind of storage, for the health check. Default: `memory`. */
  readonly name?: string
  readonly tables: Tables
  readonly log?: CommitLog
  /** Runs every write's body twice and lands the second run, so that tests see hidden side effects. */
  readonly rerun?: boolean
}

/**
 * A storage whose rows are all in memory and whose transactions run one after the other. A commit is applied in its
 * turn. Its caller, and every reader that saw it, then wait for the log outside the queue.
 */
export function serialStorage({ name = 'memory', tables, log, rerun = false }: SerialOptions): Storage {
  /** Resolves when the last in the queue has had its turn. Undefined while the queue is empty. */
  let tail: Promise<void> | undefined
  let landed: Promise<void> | undefined
  let group: Promise<void> | undefined
  let broken: StorageUnavailable | undefined
  let closing: Promise<void> | undefined

  /** Runs a job in its turn, then waits until everything that it read and wrote is durable. */
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

  /** If the log fails, memory is ahead of the disk, so the storage refuses all later jobs. */
  function keep(durable: Promise<void>): void {
    // Commits that reach the disk together share one promise.
    if (durable === group) return
    group = durable
    landed = durable.catch((cause: unknown) => {
      broken ??= new StorageUnavailable(`The last write could not be stored: ${messageOf(cause)}`, { cause })
      throw broken
    })
    landed.catch(ignore)
  }

  /** Returns whether the log got any changes. */
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

  /** A write that failed after it was sent to the log may have reached it. */
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
          // No commit may follow before the new state is durable.
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
