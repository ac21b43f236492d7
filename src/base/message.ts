import type { Owner } from './owner.js'
import type { CardCharge, CardRefund, ChargeResult, RefundResult } from './ports.js'

/** Whom a card counts for: who pays, the checkout whose link is paid, or all guests of a seller together. */
export type CardSubject = Owner | `guests:account:${number}`

/** How a message ended that its port gave an answer to. */
export type DeliveryOutcome = 'sent' | 'failed'

/** What leaves the service, whatever it is; its port answers a `Result`. */
export interface Message<Result = unknown> {
  readonly id: number
  /** An email address; for a push, that of the user whose device it goes to; for a card or a refund, that of the payer, or a twin's hostname. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly created_at: number
  /** `failed`: given up after many tries, or bounced. */
  readonly status: 'pending' | 'sent' | 'failed'
  /** How often it was tried. */
  readonly attempts: number
  /** When it is to be tried next; null once that is settled. */
  readonly due_at: number | null
  /** From when on it is of no use and is not sent, where there is such a time. */
  readonly stale_at: number | null
  /** Sealed under a key that is not here: it is not sent. */
  readonly is_unreadable?: true
  /** What its port answered, where that could not be noted yet: the port is not asked again. Absent in older rows. */
  readonly answer?: Result
  /** Since when it waits for an operator, as that failed too often; absent where it does not. */
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

/** A card to be charged. */
export interface CardRow extends Message<ChargeResult> {
  readonly kind: 'card'
  readonly charge: CardCharge
  /** What it pays for, and the id of that. */
  readonly purpose: 'topup' | 'checkout' | 'invoice'
  readonly purpose_id: number
  /** Whom it counts for if it is declined: nobody in older rows. */
  readonly subjects?: readonly CardSubject[]
}

/** A charge of a card to be given back. */
export interface RefundRow extends Message<RefundResult> {
  readonly kind: 'refund'
  readonly refund: CardRefund
  /** What it was charged for, and the id of that. */
  readonly purpose: 'checkout'
  readonly purpose_id: number
}

/** A message that leaves the service: written with what it tells, delivered after that write has landed. */
export type OutboxRow = MailRow | PushRow | CardRow | RefundRow
