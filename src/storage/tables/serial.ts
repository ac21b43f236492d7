import { assertState, copyState, latestOf } from '../state.js'
import {
  type ImportOptions,
  OutcomeUnknown,
  type Reader,
  type Replaced,
  type ReplacedRow,
  type State,
  type Storage,
  StorageClosed,
  StorageUnavailable,
  type Writer,
} from '../storage.js'
import { type Changes, Transaction } from '../transaction.js'
import { ignore } from '../unknown.js'
import { migrateState, NO_HISTORY, type SchemaHistory } from './migration.js'
import { Tables } from './tables.js'

/** Commits that become durable together, and what each replaced. */
interface Group {
  readonly durable: Promise<void>
  readonly replaced: (readonly ReplacedRow[])[]
}

/** The commits that are in the tables and not durable yet, the oldest first. If one fails, the tables drop them all. */
class Landings {
  #groups: Group[] = []
  #hasFailed = false

  constructor(readonly tables: Tables) {}

  /** Resolves when everything in the tables is durable. Undefined if it is. */
  get durable(): Promise<void> | undefined {
    return this.#groups.at(-1)?.durable
  }

  /** Whether a commit failed that is still in the tables. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Adds a commit. Commits that become durable together share one promise. */
  add(durable: Promise<void>, replaced: readonly ReplacedRow[]): void {
    const last = this.#groups.at(-1)
    if (last?.durable === durable) {
      last.replaced.push(replaced)
      return
    }
    const group: Group = { durable, replaced: [replaced] }
    this.#groups.push(group)
    durable.then(
      () => {
        if (this.#groups[0] === group) this.#groups.shift()
      },
      () => {
        if (this.#groups.includes(group)) this.#hasFailed = true
      },
    )
  }

  /** Takes failed commits, and those that have read them, out of the tables again. `isFailing`: the log refuses commits. */
  undoFailed(isFailing: boolean): void {
    if (this.#groups.length === 0 || !(this.#hasFailed || isFailing)) return
    for (const { replaced } of this.#groups.toReversed())
      for (const commit of replaced.toReversed()) this.tables.undo(commit)
    this.#groups = []
    this.#hasFailed = false
  }
}

/** Where a serial storage writes its commits. */
export interface CommitLog {
  /** Why no commit can be stored now. Undefined while all is well. */
  readonly fault: StorageUnavailable | undefined
  /** Stores what memory does not hold, such as long fields. Returns the rows as memory holds them. Throws `StorageUnavailable`. */
  prepare(changes: readonly Changes[]): readonly Changes[]
  /**
   * Appends a commit, in the order of the calls. Resolves when it is durable. Rejects with `StorageUnavailable` if it
   * was not stored, and with `OutcomeUnknown` if it is unknown. Later commits reject too then. Throws synchronously, and
   * appends nothing, while there is a fault.
   */
  append(commit: Commit): Promise<void>
  /** Resolves when a different state is durable. Rejects with `StorageUnavailable` (the log has the former) or `OutcomeUnknown`. */
  replaced(): Promise<void>
  /** Tries to store commits again after a fault. Rejects with `StorageUnavailable`. */
  recover(): Promise<void>
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
  /** The schemas of the tables. Default: rows never change their shape. */
  readonly history?: SchemaHistory
  /** Runs every write's body twice and lands the second run, so that tests see hidden side effects. */
  readonly rerun?: boolean
}

/**
 * A storage whose rows are all in memory and whose transactions run one after the other, but for some that only read. A commit is applied in its
 * turn. Its caller, and every reader that saw it, then wait for the log outside the queue. If the log fails, the tables
 * return to what it holds: reads go on, and so do writes once the log takes them again.
 */
export function serialStorage(options: SerialOptions): Storage {
  const serial = new SerialStorage(options)
  return {
    name: options.name ?? 'memory',
    exclusive: true,
    get fault() {
      return options.log?.fault
    },
    read: serial.read,
    write: serial.write,
    watchCommits: (onCommit) => serial.watchCommits(onCommit),
    // A log may keep parts of rows outside of memory, so its tables are no state of their own.
    ...(!options.log && { fork: () => serial.fork() }),
    export: () => serial.export(),
    import: (state, options) => serial.import(state, options),
    close: () => serial.close(),
  }
}

class SerialStorage {
  readonly #tables: Tables
  readonly #log: CommitLog | undefined
  readonly #history: SchemaHistory
  readonly #rerun: boolean
  readonly #landings: Landings
  readonly #lock = new TransactionLock()
  readonly #watchers: ((replaced: Replaced) => void)[] = []
  #closing: Promise<void> | undefined

  constructor({ tables, log, history = NO_HISTORY, rerun = false }: SerialOptions) {
    this.#tables = tables
    this.#log = log
    this.#history = history
    this.#rerun = rerun
    this.#landings = new Landings(tables)
  }

  readonly read = async <T>(body: (tx: Reader) => Promise<T>): Promise<T> => {
    if (this.#closing) throw new StorageClosed()
    const tables = this.#tables
    const turn = this.#lock.take()
    if (turn) await turn
    let value: T | undefined
    let durable: Promise<void> | undefined
    let growing: Promise<void> | undefined
    try {
      if (this.#log) this.#landings.undoFailed(this.#log.fault !== undefined)
      tables.mayRunAgain = true
      value = await body(tables)
      growing = tables.takeGrowing()
      if (this.#log) durable = this.#landings.durable
    } catch (error) {
      growing = tables.takeGrowing()
      if (!growing) throw error
    } finally {
      tables.mayRunAgain = false
      this.#lock.release()
    }
    if (growing) return growing.then(() => this.read(body))
    if (durable) await durable.catch(refuseReader)
    return value as T // The body returned it.
  }

  readonly write = async <T>(body: (tx: Writer) => Promise<T>): Promise<T> => {
    // Before its turn, so that nobody waits for the disk who only reads.
    if (this.#log?.fault && !this.#closing) await this.#log.recover()
    if (this.#closing) throw new StorageClosed()
    const tables = this.#tables
    const turn = this.#lock.take()
    if (turn) await turn
    let value: T | undefined
    let isSent = false
    let durable: Promise<void> | undefined
    let growing: Promise<void> | undefined
    try {
      if (this.#log) this.#landings.undoFailed(this.#log.fault !== undefined)
      tables.mayRunAgain = true
      if (this.#rerun) await body(new Transaction(tables))
      const tx = new Transaction(tables)
      value = await body(tx)
      growing = tables.takeGrowing()
      if (this.#rerun && !growing) assertPlain(tx)
      if (!growing) isSent = this.#land([...tx.changes()])
      if (this.#log) durable = this.#landings.durable
    } catch (error) {
      growing ??= tables.takeGrowing()
      if (!growing) throw error
    } finally {
      tables.mayRunAgain = false
      this.#lock.release()
    }
    if (growing) return growing.then(() => this.write(body))
    if (durable) await (isSent ? durable : durable.catch(refuseReader))
    return value as T // The body returned it.
  }

  async export(): Promise<State> {
    return this.read(async () => ({ schema: this.#history.current, ...this.#tables.state() }))
  }

  async fork(): Promise<Storage> {
    const tables = await this.#alone(() => this.#tables.fork())
    return serialStorage({ tables, history: this.#history, rerun: this.#rerun })
  }

  async import(state: State, { keepsNumbers = false, check }: ImportOptions = {}): Promise<void> {
    assertState(state)
    const imported = copyState(await migrateState(state, this.#history))
    if (this.#log?.fault && !this.#closing) await this.#log.recover()
    await this.#alone(async () => {
      await this.#landings.durable?.catch(refuseReader)
      await check?.(this.#tables)
      const counters = keepsNumbers ? latestOf(imported.counters, this.#tables.counters()) : imported.counters
      const { former, undo } = this.#tables.load({ ...imported, counters })
      try {
        // No commit may follow before the new state is durable.
        await this.#log?.replaced()
      } catch (error) {
        // The log holds the new state then, unless the machine stops.
        if (error instanceof OutcomeUnknown) this.#tell({ rows: [], former })
        else undo()
        throw error
      }
      this.#tell({ rows: [], former })
    })
  }

  watchCommits(onCommit: (replaced: Replaced) => void): void {
    this.#watchers.push(onCommit)
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut()
    return this.#closing
  }

  /** Runs a job while no transaction runs. */
  async #alone<T>(job: () => T | Promise<T>): Promise<T> {
    if (this.#closing) throw new StorageClosed()
    await this.#lock.take()
    try {
      this.#landings.undoFailed(this.#log?.fault !== undefined)
      return await job()
    } finally {
      this.#lock.release()
    }
  }

  /** Returns whether the log got any changes. */
  #land(changes: readonly Changes[]): boolean {
    const tables = this.#tables
    tables.check(changes)
    if (!this.#log) {
      this.#tell({ rows: tables.land(changes) })
      return false
    }
    if (this.#landings.hasFailed) throw new StorageUnavailable('This write has read another one that was not stored.')
    const counters = tables.moved()
    if (changes.length === 0 && !counters) return false
    const kept = this.#log.prepare(changes)
    const durable = this.#log.append({ changes: kept, counters })
    tables.keptMoved()
    const rows = tables.land(kept)
    this.#landings.add(durable, rows)
    this.#tell({ rows })
    return changes.length > 0
  }

  #tell(replaced: Replaced): void {
    if (replaced.rows.length > 0 || replaced.former) for (const onCommit of this.#watchers) onCommit(replaced)
  }

  async #shut(): Promise<void> {
    await this.#lock.take()
    await this.#landings.durable?.catch(ignore)
    await this.#log?.close()
  }
}

/** Lets one transaction in at a time, in their order. Reads wait too: on a stopped clock, the same calls must do the same. */
class TransactionLock {
  readonly #waiting: (() => void)[] = []
  #isTaken = false

  /** Undefined: it is in at once. */
  take(): Promise<void> | undefined {
    if (this.#isTaken) return new Promise((begin) => this.#waiting.push(begin))
    this.#isTaken = true
    return undefined
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#isTaken = false
  }
}

/** Whoever only read a write whose outcome is unknown has changed nothing. */
function refuseReader(cause: unknown): never {
  throw cause instanceof OutcomeUnknown ? new StorageUnavailable(cause.message, { cause, reason: cause.reason }) : cause
}

function assertPlain(tx: Transaction): void {
  for (const { collection, rows } of tx.changes())
    for (const row of rows.values())
      if (!isPlain(row)) throw new TypeError(`a row of ${collection.name} is not plain JSON: ${JSON.stringify(row)}`)
}

function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return value.every(isPlain)
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const name in value) if (!isPlain((value as Record<string, unknown>)[name])) return false
  return true
}

/** Returns a storage in memory with the state of any other. Copies the rows if the two cannot share them. */
export async function forkStorage(storage: Storage, history: SchemaHistory): Promise<Storage> {
  if (storage.fork) return storage.fork()
  return serialStorage({ tables: new Tables(copyState(await storage.export())), history })
}
