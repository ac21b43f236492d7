import { seconds } from '../../base/time.js'
import type { Reader } from '../../storage/storage.js'
import { countActiveItems } from '../catalog/item.js'
import { plans, toDollars } from '../plans/plan.js'
import { paidPeriod, type SubscriptionRow, subscriptionOf, usagePeriod } from '../plans/subscription.js'
import { callsSince } from '../plans/usage.js'

export { listPlans as showPlans, PLAN_IDS } from '../plans/plan.js'

export async function readBilling(tx: Reader, accountId: number, at: number) {
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

/** The amount is in dollars. It is due when the period ends. */
function nextInvoice(subscription: SubscriptionRow) {
  const period = paidPeriod(subscription)
  const plan = subscription.next_plan ?? subscription.plan
  return period && plan !== 'free' ? { plan, amount: toDollars(plans[plan].price), at: seconds(period.end) } : null
}
