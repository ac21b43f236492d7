import type { CardRow, CardSubject, DeliveryOutcome, Message, OutboxRow, RefundRow } from '../../base/message.js'
import type { CardCharge, CardRefund } from '../../base/ports.js'
import { isAhead } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { LONGEST_CLAIM_MS } from '../claims/claim.js'
import { claimOf } from './claim.js'

export const outbox = collection<OutboxRow>()(
  'outbox',
  {
    byDue: { fields: ['due_at'] },
    byKindAndDue: { fields: ['kind', 'due_at'] },
    byLaneAndDue: { fields: ['lane', 'due_at'] },
    byDueSet: { fields: ['due_set_at'] },
    byTo: { fields: ['to'] },
    byKind: { fields: ['kind'] },
    byToAndKind: { fields: ['to', 'kind'] },
    byParked: { fields: ['parked_at'] },
    byTaken: { fields: ['slot_of'] },
    byWaiting: { fields: ['queued_in', 'waits_since'] },
    byStatus: { fields: ['status', 'created_at'] },
  },
  // Mails hold codes and links that approve requests.
  {
    refs: {
      charge: null,
      delivery_id: 'webhook_deliveries',
      device_id: 'devices',
      purpose_id: null,
      webhook_id: 'webhooks',
    },
    sealed: {
      subject: 'Unreadable',
      text: 'This message was sealed under another key.',
      data: {},
      is_unreadable: true,
    },
    growth: {
      by: 'the service',
      bound:
        'One for each mail, push message or charge. Each has a limit of its own, and pending ones of the others wait in their lane.',
    },
    retention: {
      after: 'the message was written',
      keepMs: 'outboxDays',
      index: 'byStatus',
      prefixes: [['sent'], ['failed']],
      unless: 'it is pending, or waits for an operator. Only a sandbox keeps what was delivered',
      mostRows: 'outboxMessages',
    },
  },
)

interface NewMessage {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly staleAt?: number
  readonly at: number
  /** Who caused it. Default: its address. */
  readonly owner?: string | undefined
}

interface NewMail extends NewMessage {
  /** Whether someone waits for it, for example to sign in. Default: false. */
  readonly isAwaited?: boolean
}

export async function postMail(tx: Writer, { isAwaited = false, ...mail }: NewMail): Promise<void> {
  tx.put(outbox, { ...(await newMessage(tx, mail)), ...(isAwaited && { lane: 'awaited' }), kind: 'mail' })
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
 * Writes a charge that the caller itself delivers at once, with `background.charge`. If it has no outcome after
 * `claimMs`, or if this process ends, the service delivers it in the background. With 0 it does so at once.
 */
export async function postCharge(
  tx: Writer,
  {
    charge,
    purpose,
    purposeId,
    subjects,
    claimMs,
    ...message
  }: NewMessage & {
    charge: CardCharge
    purpose: CardRow['purpose']
    purposeId: number
    subjects: readonly CardSubject[]
    claimMs: number
  },
  service: Pick<ServiceContext, 'instance' | 'random'>,
): Promise<CardRow> {
  const claimed =
    claimMs > 0 ? { attempts: 1, claim: claimOf(service, message.at + Math.min(claimMs, LONGEST_CLAIM_MS)) } : {}
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

interface NewWebhookMessage {
  readonly webhookId: number
  readonly deliveryId: number
  /** The account of the webhook. */
  readonly accountId: number
  readonly url: string
  /** The type of the event. */
  readonly type: string
  readonly at: number
}

/** Writes an event's way to a webhook, with a number of the counter `outbox` that was already drawn. */
export function postWebhook(
  tx: Writer,
  id: number,
  { webhookId, deliveryId, accountId, url, type, at }: NewWebhookMessage,
): void {
  const message = { to: url, subject: type, text: '', owner: `account:${accountId}`, at }
  const queue = `webhook:${webhookId}`
  tx.put(outbox, {
    ...waitingMessage(id, message),
    ...{ kind: 'webhook', queue, webhook_id: webhookId, delivery_id: deliveryId },
  })
}

const newMessage = async (tx: Writer, message: NewMessage): Promise<Message<never>> =>
  waitingMessage(await tx.nextId('outbox'), message)

function waitingMessage(id: number, { at, staleAt, owner, ...message }: NewMessage): Message<never> {
  const waiting = { status: 'pending', attempts: 0, due_at: at, due_set_at: at, stale_at: staleAt ?? null } as const
  return { id, ...message, ...(owner !== undefined && { owner }), created_at: at, ...waiting }
}

/** How many messages one transaction dates anew. */
const REDATED_AT_ONCE = 200

/**
 * Dates messages anew that were posted or postponed before the clock was moved back: each waits as long from now as it
 * was to wait then. Returns whether there may be more.
 */
export async function redateMessages(tx: Writer, at: number): Promise<boolean> {
  const ahead = await messagesAhead(tx, at, REDATED_AT_ONCE)
  for (const message of ahead) {
    const { due_at, due_set_at } = message
    const wait = Math.max((due_at ?? at) - (due_set_at ?? at), 0)
    tx.put(outbox, { ...message, due_at: at + wait, due_set_at: at })
  }
  return ahead.length === REDATED_AT_ONCE
}

/** Whether `redateMessages` would find any. */
export const areMessagesAhead = async (tx: Reader, at: number): Promise<boolean> =>
  (await messagesAhead(tx, at, 1)).length > 0

async function messagesAhead(tx: Reader, at: number, limit: number): Promise<OutboxRow[]> {
  const newest = await tx.find(outbox, { index: 'byDueSet', prefix: [], limit, reverse: true })
  return newest.filter(({ due_set_at }) => isAhead(due_set_at ?? at, at))
}

/** A message that ended: it is due no more, and nobody tries it. */
export const endMessage = <M extends OutboxRow>(message: M, status: DeliveryOutcome) => ({
  ...message,
  status,
  ...NOT_DUE,
})

/** What a message has that nobody is to try. */
export const NOT_DUE = { due_at: null, due_set_at: null, claim: null } as const
