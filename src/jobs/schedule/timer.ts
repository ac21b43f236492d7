import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** Something that is to be done at a time of the service's clock. */
export interface TimerRow {
  readonly id: number
  /** Which job does it: a key of `jobs` in `src/timers.ts`. */
  readonly kind: string
  /** What it is done to: an id. */
  readonly subject: string
  /** Null while it is parked. */
  readonly due_at: number | null
  /** How often its job threw; absent where it did not, and in older rows. */
  readonly failures?: number
  /** Since when it waits for an operator, as its job threw too often; absent where it does not. */
  readonly parked_at?: number
}

export const timers = collection<TimerRow>()('timers', {
  byDue: { fields: ['due_at'] },
  byParked: { fields: ['parked_at'] },
})

/** Does what fell due, in the transaction that removes its timer: once. `service.clock` tells the time it fell due, or later. */
export type TimerJob = (tx: Writer, subject: string, service: ServiceContext) => Promise<void>

/** Has something done at a time: on a clock that stands still, once that is moved so far. Gives the timer's id. */
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
/** How often a job may throw before it waits for an operator: some two days. */
export const MOST_FAILURES = 16

/**
 * Runs a timer that fell due. A job that throws is logged, undone and put off, longer each time, so that it holds up no other; at last
 * it is parked, and whomever it concerns is told.
 */
export async function runTimer({ id }: TimerRow, jobs: Readonly<Record<string, TimerJob>>, service: ServiceContext) {
  const { storage, clock, log } = service
  const run = (work: (tx: Writer, timer: TimerRow) => Promise<void>) =>
    storage.write(async (tx) => {
      const timer = await tx.get(timers, id)
      // Another process over this storage may have been faster.
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
