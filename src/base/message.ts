import type { Owner } from './owner.js'
import type { CardCharge, CardRefund, ChargeResult, RefundResult } from './ports.js'

/**
 * Whose limit a declined card counts against: the payer's, the checkout's, or that of all guests of a seller
 * together.
 */
export type CardSubject = Owner | `guests:account:${number}`

/** How a message ended after its port answered. */
export type DeliveryOutcome = 'sent' | 'failed'

/** A message that leaves the service. Its port answers with a `Result`. */
export interface Message<Result = unknown> {
  readonly id: number
  /**
   * An email address: a push has the address of its device's user, a charge or refund that of its payer or a twin's
   * hostname.
   */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly created_at: number
  /** `failed`: given up after too many tries, or bounced. */
  readonly status: 'pending' | 'sent' | 'failed'
  /** How many times it was tried. */
  readonly attempts: number
  /** When it is tried next. Null once it has ended or is unsettled. */
  readonly due_at: number | null
  /** From this time on it is useless and is not sent. Null: it is always sent. */
  readonly stale_at: number | null
  /** It is encrypted under another key, so it is not sent. */
  readonly is_unreadable?: true
  /**
   * What its port answered, if recording that failed. The next try records it without calling the port. Absent in
   * older rows.
   */
  readonly answer?: Result
  /** Since when it is unsettled and waits for an operator. Absent otherwise. */
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
  /** Whose limits it counts against if it is declined. Absent in older rows. */
  readonly subjects?: readonly CardSubject[]
}

/** A refund of a charge to its card. */
export interface RefundRow extends Message<RefundResult> {
  readonly kind: 'refund'
  readonly refund: CardRefund
  /** The kind of thing that the card was charged for, and that thing's id. */
  readonly purpose: 'checkout'
  readonly purpose_id: number
}

/**
 * A message in the outbox. The transaction that causes it writes it, and it is delivered after that transaction has
 * landed.
 */
export type OutboxRow = MailRow | PushRow | CardRow | RefundRow
