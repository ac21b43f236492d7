import type { Owner } from './owner.js'
import type { CardCharge, CardRefund, ChargeResult, RefundResult } from './ports.js'

/** Whose limit a declined card counts against: an owner's, that of a guest's network, or that of all guests of a seller. */
export type CardSubject = Owner | `address:${string}` | `guests:account:${number}`

/** How a message ended after its port answered. */
export type DeliveryOutcome = 'sent' | 'failed'

/** A message that leaves the service. Its port answers with a `Result`. */
export interface Message<Result = unknown> {
  readonly id: number
  /** An email address, the hostname of a twin whose owner has none, or the URL of a webhook. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly created_at: number
  /** `failed`: given up after too many tries, or bounced. */
  readonly status: 'pending' | 'sent' | 'failed'
  /** How many times it was tried. */
  readonly attempts: number
  /** When it is tried next, or when the running try was due. Null once it has ended or is a dead letter. */
  readonly due_at: number | null
  /** When `due_at` was set. Null once it has ended or is a dead letter. */
  readonly due_set_at: number | null
  /** The claim of the try that runs, new for each try. Null or absent if none does. */
  readonly claim?: string | null
  /** It leaves before other messages of its kind, because someone waits for it. Absent otherwise. */
  readonly lane?: 'awaited'
  /** Whose places it takes in its lane: who caused it. Absent: those of its address. */
  readonly owner?: string
  /** The messages of one queue are on their way a few at a time. Absent: it has no queue. */
  readonly queue?: string
  /** Its queue, while it is claimed and takes one of the queue's places. Absent otherwise. */
  readonly slot_of?: string
  /** What it is set aside for: its full queue, or the turn of its owner. Then `due_at` is null. Absent otherwise. */
  readonly queued_in?: string
  /** When it was due before it was set aside. Absent otherwise. */
  readonly waits_since?: number
  /** From this time on it is useless and is not sent. Null: it is always sent. */
  readonly stale_at: number | null
  /** It is encrypted under another key, so it is not sent. */
  readonly is_unreadable?: true
  /** What its port answered, if recording that failed. The next try records it without calling the port. */
  readonly answer?: Result
  /** Since when it is a dead letter and waits for an operator. Absent otherwise. */
  readonly parked_at?: number
}

export interface MailRow extends Message<DeliveryOutcome> {
  readonly kind: 'mail'
}

export interface PushRow extends Message<void> {
  readonly kind: 'push'
  readonly device_id: number
  readonly data: Readonly<Record<string, string>>
}

/** A charge of a card. */
export interface CardRow extends Message<ChargeResult> {
  readonly kind: 'card'
  readonly charge: CardCharge
  /** The kind of thing that it pays for, and that thing's id. */
  readonly purpose: 'topup' | 'checkout' | 'invoice'
  readonly purpose_id: number
  /** Whose limits it counts against if it is declined. */
  readonly subjects: readonly CardSubject[]
}

/** A refund of a charge to its card. */
export interface RefundRow extends Message<RefundResult> {
  readonly kind: 'refund'
  readonly refund: CardRefund
  /** The kind of thing that the card was charged for, and that thing's id. */
  readonly purpose: 'checkout'
  readonly purpose_id: number
}

/** How a try of a webhook ended. */
export interface WebhookTry {
  /** Unix milliseconds. */
  readonly at: number
  /** The HTTP status of the receiver's answer. Null if none came. */
  readonly status: number | null
  /** How long it took, in milliseconds of the service's clock. */
  readonly ms: number
  /** Why it failed. Null if it did not. */
  readonly error: string | null
}

/** An event on its way to a webhook. */
export interface WebhookMessageRow extends Message<WebhookTry | 'ended'> {
  readonly kind: 'webhook'
  readonly webhook_id: number
  readonly delivery_id: number
}

/** A message in the outbox. The transaction that causes it writes it. It is delivered after that has landed. */
export type OutboxRow = MailRow | PushRow | CardRow | RefundRow | WebhookMessageRow
