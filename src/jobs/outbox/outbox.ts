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
  // Mails hold codes and links that approve requests.
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

/** Writes a push to a device. Its delivery reads the device's token, so the message does not hold it. */
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
 * Writes a charge that the caller itself delivers at once, with `deliverClaimed`. If it has no outcome after `leaseMs`,
 * the service delivers it in the background. With 0 it does so at once.
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
  const claimed = { attempts: 1, due_at: message.at + leaseMs }
  const row = {
    ...(await newMessage(tx, message)),
    ...claimed,
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

/** The message that is due first. */
export async function nextMessage(tx: Reader): Promise<OutboxRow | undefined> {
  const [message] = await tx.find(outbox, { index: 'byDue', prefix: [], limit: 1 })
  return message
}

/** Takes messages of one kind to their port and records what it answers. */
export interface DeliveryHandler<M extends OutboxRow, Result> {
  /** Returns the port's answer. If it rejects, the message is tried again. */
  send(message: M, service: ServiceContext): Promise<Result>
  /** Runs in the transaction that records the answer. Returns how the message ended. */
  settle(tx: Writer, message: M, result: Result, service: ServiceContext): Promise<DeliveryOutcome>
  /** Runs in the transaction that gives the message up after its last try. */
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
/** The wait after each failed try. Later tries follow every six hours, for three days in total. */
const BACKOFF = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR]
const LONGEST_BACKOFF = 6 * HOUR
export const MOST_TRIES = 16
/** How long one try may take before another process may try too. */
const LEASE = 5 * MINUTE

/**
 * Hands a pending message to its port: at least once, with the row's id as idempotency key. A failed message is tried
 * again later and finally given up. Only a sandbox stores sent messages, for its inbox, because they hold codes.
 */
export async function deliverMessage(
  message: OutboxRow,
  handlers: DeliveryHandlers,
  service: ServiceContext,
): Promise<void> {
  const claimed = await claim(message, service)
  if (claimed) await deliverByKind(claimed, handlers, service)
}

function deliverByKind(claimed: OutboxRow, handlers: DeliveryHandlers, service: ServiceContext): Promise<unknown> {
  switch (claimed.kind) {
    case 'mail':
      return deliverClaimed(claimed, handlers.mail, service)
    case 'push':
      return deliverClaimed(claimed, handlers.push, service)
    case 'card':
      return deliverClaimed(claimed, handlers.card, service)
    case 'refund':
      return deliverClaimed(claimed, handlers.refund, service)
  }
}

/**
 * Tries a message that the caller has claimed. Returns the port's answer, or undefined if the message is tried again.
 * If recording the answer fails, the message stores it for the next try and does not block other messages.
 */
export async function deliverClaimed<M extends OutboxRow & Message<Result>, Result>(
  claimed: M,
  handler: DeliveryHandler<M, Result>,
  service: ServiceContext,
): Promise<Result | undefined> {
  const { storage, log } = service
  const answered = await send(claimed, handler, service)
  try {
    await storage.write(async (tx) => {
      if (await isUnchanged(tx, claimed)) await recordOutcome(tx, claimed, { handler, answered }, service)
    })
    return answered?.result
  } catch (cause) {
    log.error(`the outcome of ${claimed.kind} ${claimed.id} could not be recorded and is tried again`, cause)
    await storage.write(async (tx) => {
      if (await isUnchanged(tx, claimed))
        await postpone(tx, answered ? withAnswer(claimed, answered.result) : claimed, service)
    })
    return undefined
  }
}

const withAnswer = <M extends OutboxRow, Result>(message: M, answer: Result): M & { readonly answer: Result } => ({
  ...message,
  answer,
})

/** Longer than any port should take. */
const DEADLINE = MINUTE

interface Answered<Result> {
  readonly result: Result
}

/** The port's answer to this or an earlier try. Undefined if it did not answer. */
async function send<M extends OutboxRow & Message<Result>, Result>(
  claimed: M,
  handler: DeliveryHandler<M, Result>,
  service: ServiceContext,
): Promise<Answered<Result> | undefined> {
  const { alarm, limits, log } = service
  if (claimed.answer !== undefined) return { result: claimed.answer }
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    const ms = Math.max(DEADLINE, limits.cardMs + SECOND)
    cancel = alarm.set(ms, () => reject(new Error(`no answer within ${ms} ms`)))
  })
  try {
    return { result: await Promise.race([handler.send(claimed, service), late]) }
  } catch (cause) {
    const outcome = claimed.attempts < MOST_TRIES ? 'stays in the outbox and is tried again' : 'is given up'
    log.error(`${claimed.kind} ${claimed.id} could not be sent and ${outcome}`, cause)
    return undefined
  } finally {
    cancel()
  }
}

interface Noting<M extends OutboxRow, Result> {
  readonly handler: DeliveryHandler<M, Result>
  readonly answered: Answered<Result> | undefined
}

async function recordOutcome<M extends OutboxRow, Result>(
  tx: Writer,
  claimed: M,
  { handler, answered }: Noting<M, Result>,
  service: ServiceContext,
): Promise<void> {
  if (!answered && claimed.attempts < MOST_TRIES) return tx.put(outbox, withNextTry(claimed, service))
  if (!answered) {
    await handler.giveUp?.(tx, claimed, service)
    return tx.put(outbox, { ...claimed, status: 'failed', due_at: null })
  }
  const status = await handler.settle(tx, claimed, answered.result, service)
  if (service.sandbox) tx.put(outbox, { ...claimed, status, due_at: null })
  else tx.remove(outbox, claimed.id)
}

const withNextTry = <M extends OutboxRow>(message: M, { clock }: Pick<ServiceContext, 'clock'>): M => ({
  ...message,
  due_at: clock.now() + (BACKOFF[message.attempts - 1] ?? LONGEST_BACKOFF),
})

/** Tries again, after a longer wait each time, to record how a message ended. After the last try it is unsettled. */
async function postpone(tx: Writer, message: OutboxRow, service: ServiceContext): Promise<void> {
  if (message.attempts < MOST_TRIES) return tx.put(outbox, withNextTry(message, service))
  tx.put(outbox, { ...message, due_at: null, parked_at: service.clock.now() })
  const subject = 'purpose_id' in message ? String(message.purpose_id) : message.to
  const kind = 'purpose' in message ? `${message.kind}_${message.purpose}` : message.kind
  await service.recordUnsettled(tx, { kind, subject, id: `message:${message.id}` })
}

/** Counts the try before it begins, and keeps other processes from trying the same message. */
function claim(message: OutboxRow, { storage, clock, sandbox, log }: ServiceContext): Promise<OutboxRow | undefined> {
  return storage.write(async (tx) => {
    if (!(await isUnchanged(tx, message))) return undefined
    // The sealed text of a charge is only for people: what it charges is not sealed.
    const isLost = message.is_unreadable && (message.kind === 'mail' || message.kind === 'push')
    if (isLost) log.error(`${message.kind} ${message.id} is encrypted under another key and is not sent`)
    if (isLost || (message.stale_at !== null && message.stale_at <= clock.now())) {
      if (sandbox) tx.put(outbox, { ...message, status: 'failed', due_at: null })
      else tx.remove(outbox, message.id)
      return undefined
    }
    const claimed = { ...message, attempts: message.attempts + 1, due_at: clock.now() + LEASE }
    tx.put(outbox, claimed)
    return claimed
  })
}

/** A sandbox may have emptied its outbox since, or reset and used the id for a different message. */
async function isUnchanged(tx: Reader, message: OutboxRow): Promise<boolean> {
  const { id, due_at, attempts, created_at } = message
  const stored = await tx.get(outbox, id)
  return (
    stored?.due_at === due_at &&
    stored.attempts === attempts &&
    stored.created_at === created_at &&
    contentOf(stored) === contentOf(message)
  )
}

function contentOf(message: OutboxRow): string {
  if (message.kind === 'card') return message.charge.id
  return message.kind === 'refund' ? message.refund.id : message.text
}
