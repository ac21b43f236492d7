import { problem } from '../../base/problem.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { outbox } from '../outbox/outbox.js'
import { MOST_TRIES } from '../schedule/due.js'
import { timers } from '../schedule/timer.js'

/** Work that failed too often. It waits until an operator retries it. */
export interface DeadLetter {
  /** `timer:1` or `message:1`. */
  readonly id: string
  /** The kind of the timer or message. */
  readonly kind: string
  /** The id or address that the work is about. */
  readonly subject: string
  /** When it became a dead letter, in Unix milliseconds. */
  readonly parkedAt: number
}

const MOST_DEAD_LETTERS = 1000

/** Lists dead letters, the oldest first: at most a thousand timers and a thousand messages. */
export async function listDeadLetters(tx: Reader): Promise<DeadLetter[]> {
  const waiting = { index: 'byParked', prefix: [], limit: MOST_DEAD_LETTERS } as const
  const found = { timer: await tx.find(timers, waiting), message: await tx.find(outbox, waiting) }
  return Object.entries(found)
    .flatMap(([what, rows]) =>
      rows.map(({ id, kind, subject, parked_at = 0 }) => ({ id: `${what}:${id}`, kind, subject, parkedAt: parked_at })),
    )
    .sort((a, b) => a.parkedAt - b.parkedAt)
}

/** Makes a dead letter due now, for one more try. If that fails, it is one again. Throws `not_found`. */
export async function retryDeadLetter(tx: Writer, id: string, at: number): Promise<void> {
  const [, what, digits] = /^(timer|message):(\d{1,15})$/.exec(id) ?? []
  const due = { due_at: at, due_set_at: at }
  const timer = what === 'timer' ? await tx.get(timers, Number(digits)) : undefined
  const message = what === 'message' ? await tx.get(outbox, Number(digits)) : undefined
  if (timer?.parked_at !== undefined) {
    const { parked_at, ...rest } = timer
    tx.put(timers, { ...rest, ...due, failures: MOST_TRIES - 1 })
  } else if (message?.parked_at !== undefined) {
    const { parked_at, ...rest } = message
    tx.put(outbox, { ...rest, ...due, attempts: MOST_TRIES - 1 })
  } else throw problem('not_found')
}
