import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** Work that is due at a time of the service's clock. */
export interface TimerRow {
  readonly id: number
  /** Which job runs: a key of `timerJobs` in `src/timers.ts`. */
  readonly kind: string
  /** The id of the thing that it is about. */
  readonly subject: string
  /** Null while it is unsettled. */
  readonly due_at: number | null
  /** How many times its job threw. Absent if it did not, and in older rows. */
  readonly failures?: number
  /** Since when it is unsettled and waits for an operator. Absent otherwise. */
  readonly parked_at?: number
}

export const timers = collection<TimerRow>()('timers', {
  byDue: { fields: ['due_at'] },
  byParked: { fields: ['parked_at'] },
})

/** Runs once, in the transaction that removes its timer. `service.clock` is at the time it was due, or later. */
export type TimerJob = (tx: Writer, subject: string, service: ServiceContext) => Promise<void>

/** Sets a timer. On a manual clock it runs when the clock is moved to its time. Returns the timer's id. */
export async function setTimer(tx: Writer, timer: { kind: string; subject: string; at: number }): Promise<number> {
  const id = await tx.nextId('timers')
  const { kind, subject, at } = timer
  tx.put(timers, { id, kind, subject, due_at: at })
  return id
}

export async function nextTimer(tx: Reader): Promise<TimerRow | undefined> {
  const [timer] = await tx.find(timers, { index: 'byDue', prefix: [], limit: 1 })
  return timer
}

const MINUTE = 60_000
const LONGEST_PAUSE = 6 * 60 * MINUTE
/** How many times a job may throw before it waits for an operator: about two days. */
export const MOST_FAILURES = 16

/**
 * Runs a timer that is due. If its job throws, the error is logged, the job is undone and tried again after a longer
 * wait each time, so that it does not block other timers. After the last try it is unsettled, and its owners get an
 * event.
 */
export async function runTimer({ id }: TimerRow, jobs: Readonly<Record<string, TimerJob>>, service: ServiceContext) {
  const { storage, clock, log } = service
  const run = (work: (tx: Writer, timer: TimerRow) => Promise<void>) =>
    storage.write(async (tx) => {
      const timer = await tx.get(timers, id)
      // Another process may have run it already.
      if (timer && timer.due_at !== null && timer.due_at <= clock.now()) await work(tx, timer)
    })
  try {
    await run(async (tx, { kind, subject }) => {
      tx.remove(timers, id)
      await jobs[kind]?.(tx, subject, service)
    })
  } catch (cause) {
    log.error(`the timer ${id} failed and is set again`, cause)
    await run(async (tx, timer) => postpone(tx, timer, service))
  }
}

async function postpone(tx: Writer, timer: TimerRow, service: ServiceContext): Promise<void> {
  const at = service.clock.now()
  const failures = (timer.failures ?? 0) + 1
  if (failures < MOST_FAILURES) {
    const pause = Math.min(MINUTE * 2 ** (failures - 1), LONGEST_PAUSE)
    return tx.put(timers, { ...timer, failures, due_at: at + pause })
  }
  tx.put(timers, { ...timer, failures, due_at: null, parked_at: at })
  await service.recordUnsettled(tx, { kind: timer.kind, subject: timer.subject, id: `timer:${timer.id}` })
}
