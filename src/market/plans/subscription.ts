import type { ChargedCard } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type BillingPeriod, calendarMonth, type PlanId, periodOf } from './plan.js'

/** A card that can be charged without its holder. */
export interface CardOnFile {
  /** The processor's id. */
  readonly payment_method_id: string
  readonly card: ChargedCard
}

/** `past_due`: the card was declined for the last renewal. `cancelled`: the renewal stayed unpaid. */
export type SubscriptionStatus = 'active' | 'past_due' | 'cancelled'

/** An account's plan, which it pays for in dollars, by card. No value moves between twins. */
export interface SubscriptionRow {
  /** The account's id. */
  readonly id: number
  readonly plan: PlanId
  readonly status: SubscriptionStatus
  /** The plan from the end of the period on. */
  readonly next_plan: PlanId | null
  readonly card: CardOnFile | null
  /** When the first paid period began; null on the free plan. */
  readonly anchor_at: number | null
  /** The number of the current month since then, from 0. */
  readonly period: number
  /** The one invoice that is owed or being charged. */
  readonly unpaid_invoice_id: number | null
  /** How many invoices were issued. Also the number of the last. */
  readonly invoices: number
}

export const subscriptions = collection<SubscriptionRow>()(
  'subscriptions',
  {},
  {
    refs: { unpaid_invoice_id: 'invoices' },
    growth: { by: 'an account', bound: 'One for each account.' },
    retention: { forever: 'One for each account.' },
  },
)

export const cardOf = ({ id, card }: SubscriptionRow): CardOnFile => required(card, `the card of account ${id}`)

/** Returns an account's subscription. Default: the free plan. */
export async function subscriptionOf(tx: Reader, accountId: number): Promise<SubscriptionRow> {
  const found = await tx.get(subscriptions, accountId)
  return found ?? { id: accountId, ...FREE_PLAN, status: 'active', card: null, unpaid_invoice_id: null, invoices: 0 }
}

export const FREE_PLAN = { plan: 'free', next_plan: null, anchor_at: null, period: 0 } as const

export const paidPeriod = ({ anchor_at, period }: SubscriptionRow): BillingPeriod | null =>
  anchor_at === null ? null : periodOf(anchor_at, period)

export const usagePeriod = (subscription: SubscriptionRow, at: number): BillingPeriod =>
  paidPeriod(subscription) ?? calendarMonth(at)

export interface BillingEvent {
  readonly type: Extract<EventType, `billing.${string}`>
  /** Whether the account itself did it. */
  readonly by: 'account' | 'service'
  /** Client id of the app that acted for the account. */
  readonly actor?: string | undefined
  readonly subject?: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly at: number
}

export async function recordBillingEvent(
  tx: Writer,
  accountId: number,
  { type, by, actor: app, subject, data = {}, at }: BillingEvent,
): Promise<void> {
  const owner = `account:${accountId}` as const
  const actor = app ?? (by === 'account' ? owner : 'service')
  await recordEvent(tx, { owners: [owner], type, actor, subject: subject ?? owner, data, at })
}
