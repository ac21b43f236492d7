import type { CardRow, DeliveryOutcome, Message, OutboxRow, PushRow, RefundRow } from '../../base/message.js'
import { collection, type Writer } from '../../storage/storage.js'

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
      ...{ charge: null, delivery_id: 'webhook_deliveries', device_id: 'devices', purpose_id: null },
      webhook_id: 'webhooks',
    },
    sealed: {
      ...{ subject: 'Unreadable', text: 'This message was sealed under another key.', data: {} },
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

/** `isAwaited`: whether someone waits for it, for example to sign in. Default: false. */
type NewMail = NewMessage & { readonly isAwaited?: boolean }

export async function postMail(tx: Writer, { isAwaited = false, ...mail }: NewMail): Promise<void> {
  tx.put(outbox, { ...(await newMessage(tx, mail)), ...(isAwaited && { lane: 'awaited' }), kind: 'mail' })
}

type NewPush = NewMessage & Pick<PushRow, 'data'> & { readonly deviceId: number }

/** Writes a push to a device. Its delivery reads the device's token, so the message does not hold it. */
export async function postPush(tx: Writer, { deviceId, data, ...push }: NewPush): Promise<void> {
  tx.put(outbox, { ...(await newMessage(tx, push)), kind: 'push', device_id: deviceId, data })
}

interface NewCharge extends NewMessage, Pick<CardRow, 'charge' | 'purpose' | 'subjects'> {
  readonly purposeId: number
  readonly claim: string | undefined
}

/**
 * Writes a charge. With a `claim`, its caller delivers it with `background.charge`. If it has no outcome when that flow or
 * its process has ended, the service delivers it in the background.
 */
export async function postCharge(tx: Writer, order: NewCharge): Promise<CardRow> {
  const { charge, purpose, purposeId: purpose_id, subjects, claim, ...message } = order
  const claimed = claim !== undefined && { attempts: 1, claim }
  const card = { kind: 'card', charge, purpose, purpose_id, subjects } as const
  const row = { ...(await newMessage(tx, message)), ...claimed, ...card }
  tx.put(outbox, row)
  return row
}

type NewRefund = NewMessage & Pick<RefundRow, 'refund' | 'purpose'> & { readonly purposeId: number }

export async function postRefund(tx: Writer, { refund, purpose, purposeId, ...message }: NewRefund): Promise<void> {
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
export function postWebhook(tx: Writer, id: number, order: NewWebhookMessage): void {
  const { webhookId: webhook_id, deliveryId: delivery_id, accountId, url, type, at } = order
  const message = waitingMessage(id, { to: url, subject: type, text: '', owner: `account:${accountId}`, at })
  tx.put(outbox, { ...message, kind: 'webhook', queue: `webhook:${webhook_id}`, webhook_id, delivery_id })
}

const newMessage = async (tx: Writer, message: NewMessage): Promise<Message<never>> =>
  waitingMessage(await tx.nextId('outbox'), message)

function waitingMessage(id: number, { at, staleAt, owner, ...message }: NewMessage): Message<never> {
  const waiting = { status: 'pending', attempts: 0, due_at: at, due_set_at: at, stale_at: staleAt ?? null } as const
  return { id, ...message, ...(owner !== undefined && { owner }), created_at: at, ...waiting }
}

/** A message that ended: it is due no more, and nobody tries it. */
export const endMessage = <M extends OutboxRow>(message: M, status: DeliveryOutcome) => ({
  ...message,
  status,
  ...NOT_DUE,
})

/** What a message has that nobody is to try. */
export const NOT_DUE = { due_at: null, due_set_at: null, claim: null } as const

/** Returns the codes of six digits in the text of a message. */
export const codesIn = ({ kind, text }: OutboxRow): string[] =>
  // An amount is not a code.
  isOfCard(kind) ? [] : (text.replace(LINK, '').match(/\b\d{6}\b/g) ?? [])

/** Returns the URLs in the text of a message. */
export const linksIn = ({ text }: OutboxRow): string[] => text.match(LINK) ?? []
export const isOfCard = (kind: OutboxRow['kind']): boolean => kind === 'card' || kind === 'refund'

/** Excludes punctuation at the end of a URL. */
const LINK = /https?:\/\/\S*[^\s.,;:!?)>\]"']/g
export const outboxFeature = { collections: [outbox] }
