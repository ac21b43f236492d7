import type {
  CardRow,
  DeliveryOutcome,
  MailRow,
  Message,
  OutboxRow,
  PushRow,
  RefundRow,
  WebhookMessageRow,
  WebhookTry,
} from '../../base/message.js'
import { load } from '../../base/parts.js'
import type { ChargeResult, RefundResult } from '../../base/ports.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { CommitRecord, Transaction } from '../../storage/transaction.js'
import { drawJitter, MOST_TRIES, waitAfter } from '../schedule/due.js'
import { endMessage, NOT_DUE, outbox } from './outbox.js'
import { freePlace } from './shares.js'

/** Takes messages of one kind to their port and records what it answers. */
export interface DeliveryHandler<M extends OutboxRow, Result> {
  /** Returns the port's answer. If it rejects, the message is tried again. */
  send(message: M, service: ServiceContext): Promise<Result>
  /** Runs in the transaction that records the answer. Returns how the message ended, or when it is tried again. */
  settle(tx: Writer, message: M, result: Result, service: ServiceContext): Promise<DeliveryOutcome | Retry>
  /** Runs in the transaction that gives the message up after its last try. */
  giveUp?(tx: Writer, message: M, service: ServiceContext): Promise<void>
}

/** Another try, for a kind of message that has waits of its own. */
export interface Retry {
  /** In milliseconds, without jitter. */
  readonly retryAfterMs: number
}

/** What loads the handler of each kind of message. */
export interface DeliveryHandlers {
  mail(): Promise<DeliveryHandler<MailRow, DeliveryOutcome>>
  push(): Promise<DeliveryHandler<PushRow, void>>
  card(): Promise<DeliveryHandler<CardRow, ChargeResult>>
  refund(): Promise<DeliveryHandler<RefundRow, RefundResult>>
  webhook(): Promise<DeliveryHandler<WebhookMessageRow, WebhookTry | 'ended'>>
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** The wait after each failed try, for three days in total. */
const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR]
/** How long one try may take: longer than any port should. */
const DEADLINE = MINUTE
const NOT_SENT = 'It was not accepted. The log has the reason.'

/** A try that has ended. Its functions run in a transaction, which may run twice. */
export interface Outcome<Result = unknown> {
  readonly message: OutboxRow
  /** What the port answered to this try or an earlier one. Undefined if it did not answer. */
  readonly answered: { readonly result: Result } | undefined
  /** Records how the try ended. Does nothing if someone else has taken the message over, or it is gone. */
  record(tx: Transaction): Promise<void>
  /** Its transaction has landed, and the journal may know. */
  ended(): void
  /** A fault happened while it was recorded. */
  noteFault(faultId: string): void
  /** Stores the port's answer for a later try to record it. After the last try the message is a dead letter. */
  postpone(tx: Writer): Promise<void>
}

/** A service that delivers a message. */
export interface Delivering {
  readonly service: ServiceContext
  /** Called when the message reaches its port. */
  onPort?(): void
}

/** Takes a claimed message to its port. Resolves when the port has answered or its deadline has passed. */
export function deliverMessage(
  claimed: OutboxRow,
  handlers: DeliveryHandlers,
  delivering: Delivering,
): Promise<Outcome> {
  switch (claimed.kind) {
    case 'mail':
      return deliverBy(handlers.mail, claimed, delivering)
    case 'push':
      return deliverBy(handlers.push, claimed, delivering)
    case 'card':
      return deliverBy(handlers.card, claimed, delivering)
    case 'refund':
      return deliverBy(handlers.refund, claimed, delivering)
    case 'webhook':
      return deliverBy(handlers.webhook, claimed, delivering)
  }
}

/** `deliverMessage` for a message whose kind is known. */
export async function deliverBy<M extends OutboxRow & Message<Result>, Result>(
  loadHandler: () => Promise<DeliveryHandler<M, Result>>,
  claimed: M,
  { service, onPort }: Delivering,
): Promise<Outcome<Result>> {
  const { id, kind } = claimed
  // Before anything that takes time: entries of the journal are in the order in which their work begins.
  const recording = service.recorder?.beginWork({ origin: 'delivery', kind, id, ...(onPort && { onPort }) })
  const handler = await load(loadHandler).catch((cause: unknown) => {
    service.log.error(`${kind} ${id} stays in the outbox: what sends it could not be loaded`, cause)
    return undefined
  })
  const answered = handler && (await send(claimed, handler, recording?.over(service) ?? service))
  let written: CommitRecord | undefined
  const jitter = drawJitter(service)
  const waiting = (message: OutboxRow, ms = waitAfter(WAITS, message.attempts)) => {
    const at = service.clock.now()
    return { ...message, due_at: at + jitter(ms), due_set_at: at, claim: null }
  }
  /** The message without its place, or undefined if it is no longer claimed for this try. */
  const left = async (tx: Writer) =>
    (await isClaimed(tx, claimed)) ? freePlace(tx, claimed, service.clock.now()) : undefined
  return {
    message: claimed,
    answered,
    ended: () => recording?.end({ written, failure: answered ? undefined : NOT_SENT }),
    noteFault: (faultId) => recording?.noteFault(faultId),
    async record(tx) {
      written = tx
      const message = await left(tx)
      if (!message) return
      if (handler && answered) {
        const ended = await handler.settle(tx, claimed, answered.result, service)
        if (typeof ended === 'string') return recordEnd(tx, message, ended, service)
        const { answer, ...unanswered } = message
        return tx.put(outbox, waiting(unanswered, ended.retryAfterMs))
      }
      if (!handler || claimed.attempts < MOST_TRIES) return tx.put(outbox, waiting(message))
      await handler.giveUp?.(tx, claimed, service)
      tx.put(outbox, endMessage(message, 'failed'))
    },
    async postpone(tx) {
      const message = await left(tx)
      if (!message) return
      // The answer is one of the handler's kind of message, and so is the message.
      const known = answered ? ({ ...message, answer: answered.result } as OutboxRow) : message
      if (claimed.attempts < MOST_TRIES) return tx.put(outbox, waiting(known))
      await park(tx, known, service)
    },
  }
}

async function send<M extends OutboxRow & Message<Result>, Result>(
  claimed: M,
  handler: DeliveryHandler<M, Result>,
  service: ServiceContext,
): Promise<Outcome<Result>['answered']> {
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

/** Only a sandbox stores messages that ended, for its inbox, because they hold codes. */
async function recordEnd(tx: Writer, message: OutboxRow, status: DeliveryOutcome, { sandbox }: ServiceContext) {
  if (sandbox) tx.put(outbox, endMessage(message, status))
  else tx.remove(outbox, message.id)
}

async function park(tx: Writer, message: OutboxRow, service: ServiceContext): Promise<void> {
  tx.put(outbox, { ...message, ...NOT_DUE, parked_at: service.clock.now() })
  const subject = 'purpose_id' in message ? String(message.purpose_id) : message.to
  const kind = 'purpose' in message ? `${message.kind}_${message.purpose}` : message.kind
  await service.recordDeadLetter(tx, { kind, subject, id: `message:${message.id}` })
}

/** Whether a message is still claimed for this try. A sandbox may have emptied its outbox since, or reset. */
const isClaimed = async (tx: Reader, { id, claim }: OutboxRow): Promise<boolean> =>
  typeof claim === 'string' && (await tx.get(outbox, id))?.claim === claim
