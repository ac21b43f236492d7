import type { ChargedCard } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { recordEvent } from '../../jobs/events/event.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type BillingPeriod, calendarMonth, periodOf } from './period.js'
import type { PlanId } from './plan.js'

/** A card that can be charged while nobody is there. */
export interface CardOnFile {
  /** The processor's name for it. */
  readonly payment_method_id: string
  readonly card: ChargedCard
}

/**
 * `past_due`: the last renewal's invoice is unpaid, as the card was declined. `cancelled`: it stayed so, and the account is back on
 * the free plan.
 */
export type SubscriptionStatus = 'active' | 'past_due' | 'cancelled'

/**
 * What an account has of the platform. It pays for that in dollars, by card, to the platform itself: no value moves between twins, so
 * the ledger knows nothing of it.
 */
export interface SubscriptionRow {
  /** The account's. */
  readonly id: number
  readonly plan: PlanId
  readonly status: SubscriptionStatus
  /** What it changes to when the period ends. */
  readonly next_plan: PlanId | null
  readonly card: CardOnFile | null
  /** When the first paid period began; null on the free plan. */
  readonly anchor_at: number | null
  /** Which of the months since it is. */
  readonly period: number
  /** An invoice that is being charged, or that is owed: there is one at most. */
  readonly unpaid_invoice_id: number | null
  /** How many invoices were issued: the number of the last. */
  readonly invoices: number
}

export const subscriptions = collection<SubscriptionRow>()('subscriptions', {})

/** The card that a subscription is charged to. Throws an Error where there is none on file. */
export const cardOf = ({ id, card }: SubscriptionRow): CardOnFile => required(card, `the card of account ${id}`)

/** An account that never chose a plan is on the free one. */
export async function subscriptionOf(tx: Reader, accountId: number): Promise<SubscriptionRow> {
  const found = await tx.get(subscriptions, accountId)
  return found ?? { id: accountId, ...FREE, status: 'active', card: null, unpaid_invoice_id: null, invoices: 0 }
}

/** What a subscription on the free plan has. */
export const FREE = { plan: 'free', next_plan: null, anchor_at: null, period: 0 } as const

/** The paid period that runs, or null on the free plan. */
export const paidPeriod = ({ anchor_at, period }: SubscriptionRow): BillingPeriod | null =>
  anchor_at === null ? null : periodOf(anchor_at, period)

/** The months that usage is counted by: those that are paid for, or the calendar's. */
export const usagePeriod = (subscription: SubscriptionRow, at: number): BillingPeriod =>
  paidPeriod(subscription) ?? calendarMonth(at)

export interface BillingEvent {
  readonly type: `billing.${string}`
  /** Whether the account itself did it. */
  readonly by: 'account' | 'service'
  /** The client id of the app that did it for the account. */
  readonly actor?: string | undefined
  readonly subject?: string
  readonly told?: Readonly<Record<string, unknown>>
  readonly at: number
}

export async function tellBilling(
  tx: Writer,
  accountId: number,
  { type, by, actor: app, subject, told = {}, at }: BillingEvent,
): Promise<void> {
  const owner = `account:${accountId}` as const
  const actor = app ?? (by === 'account' ? owner : 'service')
  await recordEvent(tx, { owners: [owner], type, actor, subject: subject ?? owner, data: told, at })
}
