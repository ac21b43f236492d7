import type { OutboxRow } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { MOST_TRIES } from '../outbox/delivery.js'
import { outbox } from '../outbox/outbox.js'
import { MOST_FAILURES } from '../schedule/run.js'
import { type TimerRow, timers } from '../schedule/timer.js'

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
  const found = [...(await tx.find(timers, waiting)).map(ofTimer), ...(await tx.find(outbox, waiting)).map(ofMessage)]
  return found.sort((a, b) => a.parkedAt - b.parkedAt)
}

const ofTimer = ({ id, kind, subject, parked_at = 0 }: TimerRow): DeadLetter => ({
  id: `timer:${id}`,
  kind,
  subject,
  parkedAt: parked_at,
})

const ofMessage = ({ id, kind, subject, parked_at = 0 }: OutboxRow): DeadLetter => ({
  id: `message:${id}`,
  kind,
  subject,
  parkedAt: parked_at,
})

/** Makes a dead letter due now, for one more try. If that fails, it is one again. Throws `not_found`. */
export async function retryDeadLetter(tx: Writer, id: string, at: number): Promise<void> {
  const [, what, digits] = /^(timer|message):(\d{1,15})$/.exec(id) ?? []
  if (what === 'timer') return retryTimer(tx, Number(digits), at)
  if (what === 'message') return retryMessage(tx, Number(digits), at)
  throw problem('not_found')
}

async function retryTimer(tx: Writer, id: number, at: number): Promise<void> {
  const found = await tx.get(timers, id)
  if (found?.parked_at === undefined) throw problem('not_found')
  const { parked_at, ...timer } = found
  tx.put(timers, { ...timer, failures: MOST_FAILURES - 1, due_at: at, due_set_at: at })
}

async function retryMessage(tx: Writer, id: number, at: number): Promise<void> {
  const found = await tx.get(outbox, id)
  if (found?.parked_at === undefined) throw problem('not_found')
  const { parked_at, ...message } = found
  tx.put(outbox, { ...message, attempts: MOST_TRIES - 1, due_at: at, due_set_at: at })
}
