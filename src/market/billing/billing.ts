import type { ChargedCard } from '../../base/ports.js'
import { seconds } from '../../base/time.js'
import type { Reader } from '../../storage/storage.js'
import { countActiveItems } from '../catalog/item.js'
import { type PlanId, plans, toDollars } from '../plans/plan.js'
import {
  paidPeriod,
  type SubscriptionRow,
  type SubscriptionStatus,
  subscriptionOf,
  usagePeriod,
} from '../plans/subscription.js'
import { callsSince } from '../plans/usage.js'

export { listPlans as showPlans, PLAN_IDS } from '../plans/plan.js'

interface Used {
  used: number
  /** Null: no limit. */
  limit: number | null
}

export interface ShownBilling {
  plan: PlanId
  status: SubscriptionStatus
  card: ChargedCard | null
  current_period_end: number | null
  /** The plan from the end of the period on. */
  next_plan: PlanId | null
  /** The amount is in dollars. It is due when the period ends. */
  next_invoice: { plan: PlanId; amount: number; at: number } | null
  /** The invoice that is owed or being charged. */
  unpaid_invoice_id: number | null
  usage: { active_items: Used; mcp_calls: Used }
}

/** Returns an account's plan, card, next invoice and usage. */
export async function readBilling(tx: Reader, accountId: number, at: number): Promise<ShownBilling> {
  const subscription = await subscriptionOf(tx, accountId)
  const { plan, status, card, next_plan, unpaid_invoice_id } = subscription
  const period = paidPeriod(subscription)
  const { active_items, mcp_calls } = plans[plan].limits
  const calls = await callsSince(tx, accountId, usagePeriod(subscription, at).start)
  return {
    plan,
    status,
    card: card && { ...card.card },
    current_period_end: period && seconds(period.end),
    next_plan,
    next_invoice: nextInvoice(subscription),
    unpaid_invoice_id,
    usage: {
      active_items: { used: await countActiveItems(tx, accountId), limit: active_items },
      mcp_calls: { used: calls, limit: mcp_calls },
    },
  }
}

function nextInvoice(subscription: SubscriptionRow): ShownBilling['next_invoice'] {
  const period = paidPeriod(subscription)
  const plan = subscription.next_plan ?? subscription.plan
  return period && plan !== 'free' ? { plan, amount: toDollars(plans[plan].price), at: seconds(period.end) } : null
}
