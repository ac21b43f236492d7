import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { ObservedStorage } from '../../storage/service-storage.js'
import type { Storage, Writer } from '../../storage/storage.js'
import type { CommitRecord, Transaction } from '../../storage/transaction.js'
import { drawJitter, isAnyAhead, MOST_TRIES, redate, runInParts, type WorkPart, waitAfter } from './due.js'
import { dueTimers, nextTimerDue, type TimerJob, type TimerRow, timers } from './timer.js'

const MINUTE = 60_000
/** The wait after each failure of a job. */
const WAITS = Array.from({ length: 9 }, (_, failures) => MINUTE * 2 ** failures)
/** How many timers run in one transaction. Requests get their turn between two transactions. */
const SLICE = 64

/** What loads the job of each kind of timer. */
export type TimerJobs = Readonly<Record<string, () => Promise<TimerJob>>>

/** Runs all timers that are due, in slices. Returns when the next one is due. */
export async function runDueTimers(jobs: TimerJobs, service: ServiceContext): Promise<number | undefined> {
  const { storage, clock } = service
  for (;;) {
    const at = clock.now()
    const { isAhead, next } = await storage.read(async (tx) => ({
      isAhead: await isAnyAhead(tx, timers, at),
      next: await nextTimerDue(tx),
    }))
    if (isAhead) await redate(timers, service)
    else if (next === undefined || next > at) return next
    else await runTimerSlice(at, jobs, service)
  }
}

/** A job that has run in a transaction. What it wrote is unknown if the storage refused it. */
type Ran = Pick<WorkPart<TimerRow>, 'work' | 'failure'> & { readonly written?: CommitRecord }

/**
 * Runs the first timers that are due by a time, in one transaction and in their order. A job that throws is logged,
 * undone alone and tried again after a longer wait each time. After the last try it is a dead letter, and its owners get an
 * event.
 */
export async function runTimerSlice(dueBy: number, jobs: TimerJobs, service: ServiceContext): Promise<void> {
  const happened: string[] = []
  const storage = new ObservedStorage(service.storage, { noteFault: (faultId) => happened.push(faultId) })
  const kinds = await storage.read(async (tx) => (await dueTimers(tx, dueBy, SLICE)).map(({ kind }) => kind))
  const loaded = await loadJobs(new Set(kinds), jobs)
  const run: Run = { jobs: loaded, service, storage, happened, jitter: drawJitter(service) }
  try {
    const ran = await storage.write(async (tx) => runAll(tx, await dueTimers(tx, dueBy, SLICE), run))
    reportAll(ran, run)
  } catch (cause) {
    // One of them may have written what the storage refuses, and it is unknown which.
    const due = await storage.read((tx) => dueTimers(tx, dueBy, SLICE))
    if (due.length === 0) throw cause
    for (const timer of due) await runOne(timer, run)
  }
}

/** Loads jobs before their transaction. One that does not load fails like a job that throws. */
async function loadJobs(kinds: ReadonlySet<string>, jobs: TimerJobs): Promise<Run['jobs']> {
  const loaded = new Map<string, TimerJob>()
  for (const kind of kinds) {
    const job = load(async () => jobs[kind]?.())
    const failing = (cause: unknown) => () => Promise.reject(cause)
    loaded.set(kind, (await job.catch(failing)) ?? doNothing)
  }
  return loaded
}

const doNothing: TimerJob = async () => {}

interface Run {
  /** By the kinds of timers. */
  readonly jobs: ReadonlyMap<string, TimerJob>
  readonly service: ServiceContext
  /** That of the service. It notes the faults that happen to it in `happened`. */
  readonly storage: Storage
  readonly happened: readonly string[]
  readonly jitter: (ms: number) => number
}

async function runAll(tx: Writer, due: readonly TimerRow[], run: Run): Promise<readonly Ran[]> {
  const runJob = async (part: Transaction, timer: TimerRow) => {
    part.remove(timers, timer.id)
    await run.jobs.get(timer.kind)?.(part, timer.subject, run.service)
  }
  return runInParts(tx, dueStill(tx, due, run), runJob, (_, timer) => postpone(tx, timer, run))
}

/** An earlier job of the slice may have removed one. One that was set since the jobs were loaded waits for the next slice. */
async function* dueStill(tx: Writer, due: readonly TimerRow[], { jobs }: Run): AsyncIterable<TimerRow> {
  for (const timer of due)
    if (jobs.has(timer.kind) && (await tx.get(timers, timer.id))?.due_at === timer.due_at) yield timer
}

async function runOne({ id }: TimerRow, run: Run): Promise<void> {
  const { storage } = run
  const { clock } = run.service
  /** Does nothing if another process has run it. */
  const write = <T>(work: (tx: Writer, timer: TimerRow) => Promise<T>) =>
    storage.write(async (tx) => {
      const timer = await tx.get(timers, id)
      return timer && timer.due_at !== null && timer.due_at <= clock.now() ? work(tx, timer) : undefined
    })
  try {
    const ran = await write((tx, timer) => runAll(tx, [timer], run))
    reportAll(ran ?? [], run)
  } catch (cause) {
    const postponed = await write(async (tx, timer) => {
      await postpone(tx, timer, run)
      return timer
    })
    if (postponed) reportAll([{ work: postponed, failure: { cause } }], run)
  }
}

/** Records and logs how jobs went whose transaction has landed. */
function reportAll(ran: readonly Ran[], { service: { log, recorder }, happened }: Run): void {
  const fault = happened.at(-1)
  for (const { work: timer, written, failure } of ran) {
    if (failure) log.error(`the timer ${timer.id} failed and is set again`, failure.cause)
    const recording = recorder?.beginWork({ origin: 'timer', kind: timer.kind, id: timer.id })
    if (fault !== undefined) recording?.noteFault(fault)
    recording?.end({ written, failure: failure?.cause })
  }
}

async function postpone(tx: Writer, timer: TimerRow, { service, jitter }: Run): Promise<void> {
  const at = service.clock.now()
  const failures = (timer.failures ?? 0) + 1
  if (failures < MOST_TRIES) {
    const pause = jitter(waitAfter(WAITS, failures))
    return tx.put(timers, { ...timer, failures, due_at: at + pause, due_set_at: at })
  }
  const { due_set_at, ...parked } = timer
  tx.put(timers, { ...parked, failures, due_at: null, parked_at: at })
  await service.recordDeadLetter(tx, { kind: timer.kind, subject: timer.subject, id: `timer:${timer.id}` })
}
