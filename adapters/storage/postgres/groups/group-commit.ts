import { OutcomeUnknown, type ReplacedRow, StorageUnavailable, type Writer } from '../../../../src/storage/storage.js'
import { type Changes, type CommittedReader, Transaction } from '../../../../src/storage/transaction.js'
import { messageOf } from '../../../../src/storage/unknown.js'
import { type Database, KeptSession } from '../connection/database.js'
import { isUnreachable, REFUSED } from '../connection/errors.js'
import type { Hints } from '../connection/hints.js'
import type { Session } from '../connection/session.js'
import { Counters, DrawnIds, readCounters } from '../tables/content.js'
import { checkUnique, isViolation, KnownCommits, RetryOneByOne, UniqueKeys } from './group-changes.js'
import { type CommitWatch, commitGroup, hasLanded, type LandingOptions, lockCommits } from './landing.js'
import { GatheredReads, GroupChanges, View } from './view.js'

export interface GroupCommitOptions extends LandingOptions {
  readonly database: Database
  readonly watch: CommitWatch
  readonly hints: Hints | undefined
}

const MOST_WRITES = 128

interface Write {
  /** Runs the body. Resolves with what to do once its changes are stored. */
  run(tx: Writer): Promise<() => void>
  fail(error: unknown): void
}

/** What a body of a group came to. It is told once the group has landed, because it may have read what others wrote. */
interface Outcome {
  readonly hasChanged: boolean
  settle(): void
  fail(error: unknown): void
}

interface Run {
  readonly changes: readonly Changes[]
  /** What they replace, if someone watches. */
  readonly replaced: readonly ReplacedRow[]
  readonly counters: Counters
  readonly drawn: DrawnIds
  readonly outcome: Outcome
}

/** Writes whose reads were gathered together, in one view of the stored rows. */
interface Part {
  readonly writes: readonly Write[]
  readonly view: View
  /** The last commit before anything was read. */
  readonly base: number | undefined
  /** How the only write ran. It need not run again if nobody has committed since. */
  readonly ran?: Run | undefined
}

interface Group {
  readonly parts: Part[]
  /** Whether parts that were gathered while it waited for the head join it. */
  readonly isOpen: boolean
  /** Whether unique keys are checked body by body. */
  readonly isOneByOne: boolean
}

/** A group that lands now. `unique`: undefined if each body checks its own. `same`: the first part, if nobody has committed since. */
interface Landing {
  readonly session: Session
  readonly changes: GroupChanges
  readonly unique: UniqueKeys | undefined
  readonly commit: number
  readonly same: Part | undefined
}

/**
 * Lands the writes of this process in groups. The bodies that wait run twice: first all at once, so that what they read
 * is gathered into few round trips, and then one after another over what was read, while the group holds the head of the
 * storage. All their changes land in one transaction. A body that throws changes nothing, and the others still land.
 *
 * While another process holds the head, a group waits for it and grows.
 */
export class GroupCommit {
  /** For the first run. */
  readonly #reading: KeptSession
  /** For the second run, and the changes. */
  readonly #landing: KeptSession
  readonly #known = new KnownCommits()
  #counters = new Counters()
  #waiting: Write[] = []
  #isGathering = false
  readonly #gathered: Part[] = []
  #holdsHead = false
  /** Whether someone else committed before the last group of this process. */
  #othersCommitted = false
  /** Resolves when the last group, or other use of the head, has ended. */
  #turn: Promise<unknown> = Promise.resolve()
  #group = 0

  constructor(
    readonly options: GroupCommitOptions,
    session: Session,
  ) {
    this.#reading = new KeptSession(options.database)
    this.#landing = new KeptSession(options.database, session)
  }

  write<T>(body: (tx: Writer) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = async (tx: Writer) => {
        const value = await body(tx)
        return () => resolve(value)
      }
      this.#waiting.push({ run, fail: reject })
      void this.#next()
    })
  }

  /** Lets a job write in a transaction of its own between two groups, such as an import. It may run again. */
  alone(job: (session: Session, commit: number) => Promise<void>): Promise<void> {
    const land = () =>
      this.#withHead(undefined, async (session, commit) => {
        this.#known.forget()
        await job(session, commit)
        const hint = this.options.hints?.of(this.options.tables.all.map(({ collection }) => collection.name))
        return (own) => commitGroup(session, [], { ...this.options, own, counters: {}, hint })
      })
    const done = this.#turn.then(() => this.options.database.patiently(land))
    this.#turn = done.catch(() => {})
    return done
  }

  async close(): Promise<void> {
    await this.#turn
    await Promise.all([this.#reading.close(), this.#landing.close()])
  }

  /** While one group lands, the next one gathers its reads. Those that come while a group waits for the head join it. */
  async #next(): Promise<void> {
    const isFull = this.#holdsHead ? this.#gathered.length > 0 : countWrites(this.#gathered) >= MOST_WRITES
    if (this.#isGathering || this.#waiting.length === 0 || isFull) return
    this.#isGathering = true
    // Others that are called in this turn join.
    await new Promise((resolve) => setImmediate(resolve))
    const part = await this.#gather(this.#waiting.splice(0, MOST_WRITES))
    this.#gathered.push(part)
    this.#isGathering = false
    this.#turn = this.#turn.then(() => this.#landGathered())
    void this.#next()
  }

  async #landGathered(): Promise<void> {
    const parts = this.#gathered.splice(0)
    void this.#next()
    // They may have joined the group before.
    if (parts.length > 0) await this.#land({ parts, isOpen: true, isOneByOne: false })
  }

  /** Runs all bodies at once, only to learn what they read. */
  async #gather(writes: readonly Write[]): Promise<Part> {
    const { tables } = this.options
    const base = this.#known.last
    const session = await this.#reading.get().catch(() => undefined)
    // Without a connection, landing says so.
    const query: Session['query'] = (statement) =>
      session ? session.query(statement) : Promise.reject(new StorageUnavailable('There is no connection.'))
    const view = new View(new GatheredReads(tables, { query }))
    if (!session) return { writes, view, base }
    const runs = await Promise.all(writes.map((write) => this.#run(write, view, this.#counters.copy())))
    // A body may have failed because the connection did.
    const isWhole = session.failure === undefined
    if (!isWhole) await session.close()
    return { writes, view, base, ran: isWhole && runs.length === 1 ? runs[0] : undefined }
  }

  /** Lands a group, and tells each write what came of it. Never rejects. */
  async #land(group: Group): Promise<void> {
    const outcomes: Outcome[] = []
    try {
      await this.options.database.patiently(() => this.#try(group, outcomes))
      for (const outcome of outcomes) outcome.settle()
    } catch (error) {
      this.#known.forget()
      const { parts } = group
      if (error instanceof RetryOneByOne) await this.#land({ ...group, isOneByOne: true })
      else if (error instanceof OutcomeUnknown)
        for (const { hasChanged, fail } of outcomes) fail(hasChanged ? error : notStored(error))
      else
        for (const part of parts)
          for (const write of part.writes)
            if (countWrites(parts) === 1 || isOfAll(error)) write.fail(error)
            // One of them has a row that the database refuses.
            else await this.#land({ ...group, parts: [{ ...part, writes: [write] }], isOpen: false })
    }
  }

  #try(group: Group, outcomes: Outcome[]): Promise<void> {
    const { tables, hints } = this.options
    outcomes.length = 0
    let refreshed: readonly Part[] = []
    const meanwhile = (session: Session) => {
      if (!this.#othersCommitted) return undefined
      refreshed = [...group.parts]
      return this.#refresh(refreshed, session)
    }
    return this.#withHead(meanwhile, async (session, commit) => {
      if (group.isOpen) this.#join(group)
      await this.#catchUp(group, session, commit, refreshed)
      const changes = new GroupChanges()
      const unique = group.isOneByOne ? undefined : new UniqueKeys(tables)
      const [first] = group.parts
      const same = first?.base === commit - 1 ? first : undefined
      for (const part of group.parts)
        outcomes.push(...(await this.#runPart(part, { session, changes, unique, commit, same })))
      const counters = this.#counters
      if (changes.isEmpty && !counters.haveMoved) return undefined
      return async (own) => {
        const last = { ...this.options, own, counters: counters.moved, hint: hints?.of(changes.names) }
        await commitGroup(session, [...changes.statements(tables), ...(unique?.statements() ?? [])], last)
        counters.kept()
        this.#known.add({ commit, changes: changes.all })
      }
    })
  }

  #join({ parts }: Group): void {
    for (const part of [...this.#gathered]) {
      if (countWrites(parts) + part.writes.length > MOST_WRITES) break
      this.#gathered.shift()
      parts.push(part)
    }
    void this.#next()
  }

  /** Lets a group see what is stored now, with the head in hand. */
  async #catchUp({ parts }: Group, session: Session, commit: number, refreshed: readonly Part[]): Promise<void> {
    this.#othersCommitted = this.#known.last !== commit - 1
    const reads = new GatheredReads(this.options.tables, session)
    const outdated: Part[] = []
    for (const part of parts) {
      if (refreshed.includes(part)) continue
      const since = this.#known.since(part.base, commit - 1)
      if (since) {
        part.view.reads = reads
        for (const own of since) part.view.apply(own)
      } else outdated.push(part)
    }
    if (outdated.length > 0) await this.#refresh(outdated, session)
    if (this.#othersCommitted) this.#known.learn(commit - 1)
  }

  async #refresh(parts: readonly Part[], session: Session): Promise<void> {
    const reads = new GatheredReads(this.options.tables, session)
    for (const { view } of parts) view.reads = reads
    const refreshing = parts.map(({ view }) => view.refresh())
    const [counters] = await Promise.all([readCounters(this.options.tables, session), ...refreshing])
    this.#counters = new Counters(counters)
  }

  /** Runs the bodies of a part, after what the group has changed before. */
  async #runPart(part: Part, { session, changes, unique, commit, same }: Landing): Promise<readonly Outcome[]> {
    const { writes, view } = part
    const kept = part === same && unique ? part.ran : undefined
    view.apply(changes.all)
    const outcomes: Outcome[] = []
    for (const write of writes) {
      const run = kept ?? (await this.#run(write, view, this.#counters, !unique))
      if (session.failure) throw session.failure
      unique?.add(run.changes, { view, drawn: run.drawn })
      this.options.watch.tell(run.replaced, commit)
      this.#counters = run.counters
      view.apply(run.changes)
      changes.add(run.changes)
      outcomes.push(run.outcome)
    }
    return outcomes
  }

  /**
   * Runs work in a transaction that holds the head. `meanwhile` sends what is read first, without waiting for the head: the
   * database runs it once the transaction holds that. The work returns how to commit, under a number that no other group of
   * this process has, or undefined if nothing has changed. If the answer to COMMIT is lost, asks whether it landed. Throws
   * `OutcomeUnknown` if nobody can tell, and the error of the driver if nothing was stored.
   */
  async #withHead(
    meanwhile: ((session: Session) => Promise<void> | undefined) | undefined,
    work: (session: Session, commit: number) => Promise<((own: number) => Promise<void>) | undefined>,
  ): Promise<void> {
    const { watch } = this.options
    const session = await this.#landing.get()
    const own = ++this.#group
    let commit = 0
    let hasLanded = false
    let isSent = false
    try {
      const taken = lockCommits(session, this.options)
      const read = meanwhile?.(session)
      // A failure of both is one of the session.
      ;[commit] = await Promise.all([taken, read])
      this.#holdsHead = true
      watch.notice(commit - 1)
      const land = await work(session, commit)
      isSent = land !== undefined
      await (land ? land(own) : session.run('rollback'))
      hasLanded = isSent
    } catch (failure) {
      const error = isViolation(failure) ? new RetryOneByOne() : failure
      this.#known.forget()
      if (!session.isLost) await session.run('rollback').catch(() => {})
      hasLanded = isSent && isUnreachable(error) && (await this.#hasLanded(own, error))
      if (!hasLanded) throw error
    } finally {
      this.#holdsHead = false
      watch.settle(commit, hasLanded)
    }
  }

  /** Runs a body over a view. Never rejects. */
  async #run({ run, fail }: Write, view: View, counters: Counters, isOneByOne = false): Promise<Run> {
    const drawn = new DrawnIds()
    const tx = new Transaction(committed(view, counters, drawn))
    const { isUsed: isWatched } = this.options.watch
    if (isWatched) tx.rememberStored()
    try {
      const settle = await run(tx)
      if (isOneByOne) await checkUnique(tx, view, this.options.tables)
      const replaced = isWatched ? await tx.replaced() : []
      const changes = [...tx.changes()]
      return { changes, replaced, counters, drawn, outcome: { hasChanged: changes.length > 0, settle, fail } }
    } catch (error) {
      const outcome = { hasChanged: false, settle: () => fail(error), fail }
      return { changes: [], replaced: [], counters, drawn, outcome }
    }
  }

  /** Asks whether a group landed whose answer was lost. Throws `OutcomeUnknown` if the database does not answer. */
  async #hasLanded(group: number, lost: unknown): Promise<boolean> {
    const { database } = this.options
    try {
      return await database.patiently(async () => hasLanded(await this.#landing.get(), group, this.options))
    } catch (cause) {
      throw new OutcomeUnknown(
        `The connection to the database was lost during a commit (${messageOf(lost)}), and nobody can tell whether it was stored.`,
        { cause, reason: 'the database cannot be reached' },
      )
    }
  }
}

const committed = (view: View, counters: Counters, drawn: DrawnIds): CommittedReader => ({
  get: (from, id) => view.get(from, id),
  getMany: (from, ids) => view.getMany(from, ids),
  find: (from, query) => view.find(from, query),
  nextId: async (of) => drawn.note([of], counters.next([of]))[0] ?? 0,
  nextIds: async (of) => drawn.note(of, counters.next(of)),
})

const countWrites = (parts: readonly Part[]): number => parts.reduce((sum, { writes }) => sum + writes.length, 0)

/** Whoever only read a write whose outcome is unknown has changed nothing. */
const notStored = (cause: OutcomeUnknown): StorageUnavailable =>
  new StorageUnavailable(cause.message, { cause, reason: cause.reason })

/** Whether an error is about the database as a whole, and not about what one write stores. */
const isOfAll = (error: unknown): boolean => error instanceof StorageUnavailable && error.reason !== REFUSED
