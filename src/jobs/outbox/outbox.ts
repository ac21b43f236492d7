import type {
  CardRow,
  CardSubject,
  DeliveryOutcome,
  MailRow,
  Message,
  OutboxRow,
  PushRow,
  RefundRow,
} from '../../base/message.js'
import type { CardCharge, CardRefund, ChargeResult, RefundResult } from '../../base/ports.js'
import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

export const outbox = collection<OutboxRow>()(
  'outbox',
  {
    byDue: { fields: ['due_at'] },
    byTo: { fields: ['to'] },
    byKind: { fields: ['kind'] },
    byToAndKind: { fields: ['to', 'kind'] },
    byParked: { fields: ['parked_at'] },
  },
  // Mails hold codes, and links that answer for people.
  {
    sealed: {
      subject: 'Unreadable',
      text: 'This message was sealed under another key.',
      data: {},
      is_unreadable: true,
    },
  },
)

interface NewMessage {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly staleAt?: number
  readonly at: number
}

export async function postMail(tx: Writer, mail: NewMessage): Promise<void> {
  tx.put(outbox, { ...(await newMessage(tx, mail)), kind: 'mail' })
}

/** A push to a device; what it is sent to is read when it is sent, and rests nowhere else. */
export async function postPush(
  tx: Writer,
  {
    deviceId,
    data,
    ...push
  }: NewMessage & { readonly deviceId: number; readonly data: Readonly<Record<string, string>> },
): Promise<void> {
  tx.put(outbox, { ...(await newMessage(tx, push)), kind: 'push', device_id: deviceId, data })
}

/**
 * A charge that whoever writes it makes at once, by `deliverClaimed`. It is taken for left behind, and made by the service
 * of itself, where nothing came of that `leaseMs` later: with 0, at once.
 */
export async function postCharge(
  tx: Writer,
  {
    charge,
    purpose,
    purposeId,
    subjects,
    leaseMs,
    ...message
  }: NewMessage & {
    charge: CardCharge
    purpose: CardRow['purpose']
    purposeId: number
    subjects: readonly CardSubject[]
    leaseMs: number
  },
): Promise<CardRow> {
  const taken = { attempts: 1, due_at: message.at + leaseMs }
  const row = {
    ...(await newMessage(tx, message)),
    ...taken,
    kind: 'card',
    charge,
    purpose,
    purpose_id: purposeId,
    subjects,
  } as const
  tx.put(outbox, row)
  return row
}

export async function postRefund(
  tx: Writer,
  {
    refund,
    purpose,
    purposeId,
    ...message
  }: NewMessage & { refund: CardRefund; purpose: RefundRow['purpose']; purposeId: number },
): Promise<void> {
  tx.put(outbox, { ...(await newMessage(tx, message)), kind: 'refund', refund, purpose, purpose_id: purposeId })
}

async function newMessage(tx: Writer, { at, staleAt, ...message }: NewMessage): Promise<Message<never>> {
  const id = await tx.nextId('outbox')
  const waiting = { status: 'pending', attempts: 0, due_at: at, stale_at: staleAt ?? null } as const
  return { id, ...message, created_at: at, ...waiting }
}

/** The message to be tried first. */
export async function nextMessage(tx: Reader): Promise<OutboxRow | undefined> {
  const [message] = await tx.find(outbox, { index: 'byDue', prefix: [], limit: 1 })
  return message
}

/** Takes messages of one kind to their port. */
export interface DeliveryHandler<M extends OutboxRow, Result> {
  /** Gives what the port answered; rejects where the message is to be tried again. */
  send(message: M, service: ServiceContext): Promise<Result>
  /** Runs in the transaction that notes how the message ended, and says so. */
  settle(tx: Writer, message: M, result: Result, service: ServiceContext): Promise<DeliveryOutcome>
  /** Runs in the transaction that gives the message up, after its last try. */
  giveUp?(tx: Writer, message: M, service: ServiceContext): Promise<void>
}

/** One for each kind of message. */
export interface DeliveryHandlers {
  readonly mail: DeliveryHandler<MailRow, DeliveryOutcome>
  readonly push: DeliveryHandler<PushRow, void>
  readonly card: DeliveryHandler<CardRow, ChargeResult>
  readonly refund: DeliveryHandler<RefundRow, RefundResult>
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** How long after each failed try the next comes; then every six hours, for three days in all. */
const BACKOFF = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR]
const LONGEST_BACKOFF = 6 * HOUR
export const MOST_TRIES = 16
/** How long one try may take before another process takes it for dead. */
const LEASE = 5 * MINUTE

/**
 * Hands a waiting message to its port: at least once, with the row's id as idempotency key. One that fails is tried again
 * later, and given up at last. What was sent rests only in a sandbox, whose inbox it is: it holds codes.
 */
export async function deliverMessage(
  message: OutboxRow,
  couriers: DeliveryHandlers,
  service: ServiceContext,
): Promise<void> {
  const taken = await claim(message, service)
  if (taken) await deliverByKind(taken, couriers, service)
}

function deliverByKind(taken: OutboxRow, couriers: DeliveryHandlers, service: ServiceContext): Promise<unknown> {
  switch (taken.kind) {
    case 'mail':
      return deliverClaimed(taken, couriers.mail, service)
    case 'push':
      return deliverClaimed(taken, couriers.push, service)
    case 'card':
      return deliverClaimed(taken, couriers.card, service)
    case 'refund':
      return deliverClaimed(taken, couriers.refund, service)
  }
}

/**
 * Tries a message that the caller has taken. Gives what the port answered, or undefined where it is to be tried again: also where the
 * answer could not be noted, which keeps it for the next try and holds up no other message.
 */
export async function deliverClaimed<M extends OutboxRow & Message<Result>, Result>(
  taken: M,
  courier: DeliveryHandler<M, Result>,
  service: ServiceContext,
): Promise<Result | undefined> {
  const { storage, log } = service
  const answered = await send(taken, courier, service)
  try {
    await storage.write(async (tx) => {
      if (await isUnchanged(tx, taken)) await recordOutcome(tx, taken, { courier, answered }, service)
    })
    return answered?.result
  } catch (cause) {
    log.error(`what came of ${taken.kind} ${taken.id} could not be noted and is tried again`, cause)
    await storage.write(async (tx) => {
      if (await isUnchanged(tx, taken))
        await postpone(tx, answered ? withAnswer(taken, answered.result) : taken, service)
    })
    return undefined
  }
}

const withAnswer = <M extends OutboxRow, Result>(message: M, answer: Result): M & { readonly answer: Result } => ({
  ...message,
  answer,
})

/** Longer than any port may take. */
const DEADLINE = MINUTE

interface Answered<Result> {
  readonly result: Result
}

/** What the port answered, now or before; undefined where it did not. */
async function send<M extends OutboxRow & Message<Result>, Result>(
  taken: M,
  courier: DeliveryHandler<M, Result>,
  service: ServiceContext,
): Promise<Answered<Result> | undefined> {
  const { alarm, limits, log } = service
  if (taken.answer !== undefined) return { result: taken.answer }
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    const ms = Math.max(DEADLINE, limits.cardMs + SECOND)
    cancel = alarm.set(ms, () => reject(new Error(`there was no answer within ${ms} ms`)))
  })
  try {
    return { result: await Promise.race([courier.send(taken, service), late]) }
  } catch (cause) {
    const outcome = taken.attempts < MOST_TRIES ? 'stays in the outbox and is tried again' : 'is given up'
    log.error(`${taken.kind} ${taken.id} could not be sent and ${outcome}`, cause)
    return undefined
  } finally {
    cancel()
  }
}

interface Noting<M extends OutboxRow, Result> {
  readonly courier: DeliveryHandler<M, Result>
  readonly answered: Answered<Result> | undefined
}

async function recordOutcome<M extends OutboxRow, Result>(
  tx: Writer,
  taken: M,
  { courier, answered }: Noting<M, Result>,
  service: ServiceContext,
): Promise<void> {
  if (!answered && taken.attempts < MOST_TRIES) return tx.put(outbox, withNextTry(taken, service))
  if (!answered) {
    await courier.giveUp?.(tx, taken, service)
    return tx.put(outbox, { ...taken, status: 'failed', due_at: null })
  }
  const status = await courier.settle(tx, taken, answered.result, service)
  if (service.sandbox) tx.put(outbox, { ...taken, status, due_at: null })
  else tx.remove(outbox, taken.id)
}

const withNextTry = <M extends OutboxRow>(message: M, { clock }: Pick<ServiceContext, 'clock'>): M => ({
  ...message,
  due_at: clock.now() + (BACKOFF[message.attempts - 1] ?? LONGEST_BACKOFF),
})

/** A message whose end cannot be noted: it is tried again, later each time, and parked at last. */
async function postpone(tx: Writer, message: OutboxRow, service: ServiceContext): Promise<void> {
  if (message.attempts < MOST_TRIES) return tx.put(outbox, withNextTry(message, service))
  tx.put(outbox, { ...message, due_at: null, parked_at: service.clock.now() })
  const subject = 'purpose_id' in message ? String(message.purpose_id) : message.to
  const kind = 'purpose' in message ? `${message.kind}_${message.purpose}` : message.kind
  await service.recordUnsettled(tx, { kind, subject, id: `message:${message.id}` })
}

/** Counts the try before it is made, and keeps the message from other processes over the same storage meanwhile. */
function claim(message: OutboxRow, { storage, clock, sandbox, log }: ServiceContext): Promise<OutboxRow | undefined> {
  return storage.write(async (tx) => {
    if (!(await isUnchanged(tx, message))) return undefined
    // The text of a card's charge is for people alone: what it moves rests in clear.
    const isLost = message.is_unreadable && (message.kind === 'mail' || message.kind === 'push')
    if (isLost) log.error(`${message.kind} ${message.id} was sealed under another key and is not sent`)
    if (isLost || (message.stale_at !== null && message.stale_at <= clock.now())) {
      if (sandbox) tx.put(outbox, { ...message, status: 'failed', due_at: null })
      else tx.remove(outbox, message.id)
      return undefined
    }
    const taken = { ...message, attempts: message.attempts + 1, due_at: clock.now() + LEASE }
    tx.put(outbox, taken)
    return taken
  })
}

/** Meanwhile a sandbox may have emptied its outbox, or begun anew and given the id to another message. */
async function isUnchanged(tx: Reader, message: OutboxRow): Promise<boolean> {
  const { id, due_at, attempts, created_at } = message
  const kept = await tx.get(outbox, id)
  return (
    kept?.due_at === due_at &&
    kept.attempts === attempts &&
    kept.created_at === created_at &&
    contentOf(kept) === contentOf(message)
  )
}

function contentOf(message: OutboxRow): string {
  if (message.kind === 'card') return message.charge.id
  return message.kind === 'refund' ? message.refund.id : message.text
}
