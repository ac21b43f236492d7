import type { ChargedCard } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { seconds } from '../../base/time.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { toAmount } from '../../money/ledger/amount.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** Null: no limit. */
export type PlanLimits = Readonly<Record<'active_items' | 'mcp_calls', number | null>>

export const PLAN_IDS = ['free', 'growth', 'scale'] as const
export type PlanId = (typeof PLAN_IDS)[number]

/** Prices are in cents per month. */
export const plans: Readonly<Record<PlanId, { id: PlanId; name: string; price: bigint; limits: PlanLimits }>> = {
  free: { id: 'free', name: 'Free', price: 0n, limits: { active_items: 25, mcp_calls: 1_000 } },
  growth: { id: 'growth', name: 'Growth', price: 2_900n, limits: { active_items: 500, mcp_calls: 50_000 } },
  scale: { id: 'scale', name: 'Scale', price: 19_900n, limits: { active_items: null, mcp_calls: 1_000_000 } },
}

export const isUpgrade = (from: PlanId, to: PlanId): boolean => PLAN_IDS.indexOf(to) > PLAN_IDS.indexOf(from)
export const toDollars = (cents: bigint | string): number => toAmount(cents, 2)

export const listPlans = () => ({
  plans: PLAN_IDS.map((id) => {
    const { name, price, limits } = plans[id]
    return { id, name, price: toDollars(price), currency: 'USD', interval: 'month' as const, limits }
  }),
})

/** From `start` to just before `end`, in Unix milliseconds. */
export interface BillingPeriod {
  readonly start: number
  readonly end: number
}

/** Month `index`, from 0: it begins on the anchor's day and time in UTC, or on the last day: 31 January, 28 February. */
export const periodOf = (anchor: number, index: number): BillingPeriod => ({
  start: monthsAfter(anchor, index),
  end: monthsAfter(anchor, index + 1),
})

function monthsAfter(anchor: number, months: number): number {
  const from = new Date(anchor)
  const month = from.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), month + 1, 0)).getUTCDate()
  const timeOfDay = anchor - Date.UTC(from.getUTCFullYear(), from.getUTCMonth(), from.getUTCDate())
  return Date.UTC(from.getUTCFullYear(), month, Math.min(from.getUTCDate(), lastDay)) + timeOfDay
}

export function calendarMonth(at: number): BillingPeriod {
  const date = new Date(at)
  return periodOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()), 0)
}

/** Prices the rest of a period under a more expensive plan, in cents. Each is rounded half up: `charge - credit = total`. */
export function prorate({ from, to }: { from: bigint; to: bigint }, { start, end }: BillingPeriod, at: number) {
  const rest = { of: BigInt(end - start), left: BigInt(end - Math.min(Math.max(at, start), end)) }
  const charge = share(to, rest)
  const total = share(to - from, rest)
  return { charge, credit: charge - total, total }
}

const share = (price: bigint, { of, left }: { of: bigint; left: bigint }): bigint =>
  (price * left * 2n + of) / (of * 2n)

/** `2031-05-01`, in UTC. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

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

/** How many calls an account's MCP server sold in the period counted last. */
export interface McpUsageRow {
  /** The account's id. */
  readonly id: number
  readonly period_start: number
  readonly calls: number
}

export const mcpUsages = collection<McpUsageRow>()(
  'mcp_usages',
  {},
  { growth: { by: 'an agent', bound: 'One for each account.' }, retention: { forever: 'One for each account.' } },
)

/** Throws `plan_limit_reached` if an account cannot have one more active item. `count` counts its active items. */
export async function checkItemLimit(tx: Reader, accountId: number, count: () => Promise<number>): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const limit = plans[subscription.plan].limits.active_items
  if (limit === null) return
  const used = await count()
  if (used < limit) return
  const detail = `allows ${limit} active catalog items. Deactivate or archive one, or`
  throw limitReached(subscription, 'active_items', { limit, used, detail })
}

/** Counts a call that an account's MCP server sells. Throws `plan_limit_reached`, and then does not count the call. */
export async function countMcpCall(tx: Writer, accountId: number, at: number): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const { start, end } = usagePeriod(subscription, at)
  const used = await callsSince(tx, accountId, start)
  const limit = plans[subscription.plan].limits.mcp_calls
  if (limit !== null && used >= limit) {
    const until = new Date(end).toISOString()
    const detail = `allows ${limit} MCP calls a month. Wait until ${until}, or`
    throw limitReached(subscription, 'mcp_calls', { limit, used, detail, resets_at: seconds(end) })
  }
  tx.put(mcpUsages, { id: accountId, period_start: start, calls: used + 1 })
}

export async function callsSince(tx: Reader, accountId: number, start: number): Promise<number> {
  const usage = await tx.get(mcpUsages, accountId)
  return usage?.period_start === start ? usage.calls : 0
}

function limitReached(
  { plan }: SubscriptionRow,
  of: keyof PlanLimits,
  { detail, ...counts }: { detail: string; limit: number; used: number; resets_at?: number },
) {
  return problem('plan_limit_reached', {
    detail: `The ${plans[plan].name} plan ${detail} change the plan at PUT /v4/billing/plan.`,
    fields: { of, plan, ...counts },
  })
}

export const planFeature = { collections: [subscriptions, mcpUsages] }
