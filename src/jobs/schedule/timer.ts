import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** Work that is due at a time of the service's clock. */
export interface TimerRow {
  readonly id: number
  /** Which job runs: a key of `timerJobs` in `src/timers.ts`. */
  readonly kind: string
  /** The id of the thing that it is about. */
  readonly subject: string
  /** Null while it is a dead letter. */
  readonly due_at: number | null
  /** When `due_at` was set. Absent if its job goes by a time of its own, and while it is a dead letter. */
  readonly due_set_at?: number
  /** How many times its job threw. Absent if it did not. */
  readonly failures?: number
  /** Since when it is a dead letter and waits for an operator. Absent otherwise. */
  readonly parked_at?: number
}

export const timers = collection<TimerRow>()(
  'timers',
  {
    byDue: { fields: ['due_at'] },
    byDueSet: { fields: ['due_set_at'] },
    byKind: { fields: ['kind'] },
    byParked: { fields: ['parked_at'] },
  },
  {
    refs: { subject: null },
    growth: { by: 'the service', bound: 'One for each row that waits for a time.' },
    retention: { until: 'its work is done. Work that failed too often waits for an operator' },
  },
)

/** Runs once, in the transaction that removes its timer. `service.clock` is at the time it was due, or later. */
export type TimerJob = (tx: Writer, subject: string, service: ServiceContext) => Promise<void>

export interface NewTimer {
  readonly kind: string
  readonly subject: string
  readonly at: number
  /**
   * The time of the service's clock, for a timer that is about a wait: it then waits no longer than that if the clock is
   * moved back. Leave it out for a date, such as the end of a month.
   */
  readonly now?: number
}

/** Sets a timer. On a manual clock it runs when the clock is moved to its time. Returns the timer's id. */
export async function setTimer(tx: Writer, { kind, subject, at, now }: NewTimer): Promise<number> {
  const id = await tx.nextId('timers')
  tx.put(timers, { id, kind, subject, due_at: at, ...(now !== undefined && { due_set_at: now }) })
  return id
}

/** The timers that are due by a time, the earliest first. */
export async function dueTimers(tx: Reader, dueBy: number, limit: number): Promise<TimerRow[]> {
  const first = await tx.find(timers, { index: 'byDue', prefix: [], limit })
  return first.filter(({ due_at }) => due_at !== null && due_at <= dueBy)
}

/** When the first timer is due. */
export async function nextTimerDue(tx: Reader): Promise<number | undefined> {
  const [first] = await tx.find(timers, { index: 'byDue', prefix: [], limit: 1 })
  return first?.due_at ?? undefined
}

export const timerFeature = { collections: [timers] }
