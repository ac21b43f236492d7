import type { ServiceContext } from '../context.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'

/** Something that is to be done at a time of the service's clock. */
export interface TimerRow {
  readonly id: number
  /** Which job does it: a key of `jobs` in `src/timers.ts`. */
  readonly kind: string
  /** What it is done to: an id. */
  readonly subject: string
  readonly due_at: number
}

export const timers = collection<TimerRow>()('timers', { byDue: { fields: ['due_at'] } })

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

const RETRY = 60_000

/** Runs a timer that fell due. A job that throws is logged, undone and tried again a minute later. */
export async function runTimer({ id }: TimerRow, jobs: Readonly<Record<string, TimerJob>>, service: ServiceContext) {
  const { storage, clock, log } = service
  const run = async (tx: Writer, work: (timer: TimerRow) => Promise<void>) => {
    const timer = await tx.get(timers, id)
    // Another process over this storage may have been faster.
    if (timer && timer.due_at <= clock.now()) await work(timer)
  }
  try {
    await storage.write((tx) =>
      run(tx, async ({ kind, subject }) => {
        tx.remove(timers, id)
        await jobs[kind]?.(tx, subject, service)
      }),
    )
  } catch (cause) {
    log.error(`the timer ${id} failed and is set again`, cause)
    await storage.write((tx) => run(tx, async (timer) => tx.put(timers, { ...timer, due_at: clock.now() + RETRY })))
  }
}
