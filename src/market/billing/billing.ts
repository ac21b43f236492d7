import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { saveCard } from '../../money/cards/charge.js'
import { cardDeclined, checkProcessor } from '../../money/cards/charge-now.js'
import { beginCardTry, endCardTry } from '../../money/cards/declines.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { countActiveItems } from '../catalog/item.js'
import { plans, toDollars } from '../plans/plan.js'
import {
  type CardOnFile,
  paidPeriod,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
  usagePeriod,
} from '../plans/subscription.js'
import { callsSince } from '../plans/usage.js'
import { unpaidInvoice } from './invoice.js'

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

function nextInvoice(subscription: SubscriptionRow) {
  const period = paidPeriod(subscription)
  const plan = subscription.next_plan ?? subscription.plan
  return period && plan !== 'free' ? { plan, amount: toDollars(plans[plan].price), at: seconds(period.end) } : null
}

/** Saves an account's card at the card processor. Throws `too_many_declines`, `card_declined`, `processor_failed`. */
export async function saveAccountCard(accountId: number, paymentMethodId: string, service: ServiceContext) {
  checkProcessor(service)
  const { storage, clock, random } = service
  const id = `card_${randomHex(random, 16)}`
  const tried = { subjects: [`account:${accountId}`] as const, at: clock.now() }
  await storage.write((tx) => beginCardTry(tx, tried))
  const result = await saveCard({ id, payment_method_id: paymentMethodId }, service)
  await storage.write((tx) => endCardTry(tx, tried, { isDeclined: result.status === 'declined', at: clock.now() }))
  if (result.status === 'saved') return { payment_method_id: result.payment_method_id, card: result.card }
  if (result.status === 'unavailable')
    throw problem('processor_failed', { detail: 'The card was not saved, and nothing was charged. Try again later.' })
  throw cardDeclined(result.reason)
}

/** Replaces an account's card on file. Nothing is charged now. The next charge uses the new card. */
export async function updateCard(accountId: number, paymentMethodId: string, service: ServiceContext) {
  const card = await saveAccountCard(accountId, paymentMethodId, service)
  return service.storage.write(async (tx) => {
    const at = service.clock.now()
    const subscription = await subscriptionOf(tx, accountId)
    await storeCard(tx, subscription, { card, at })
    return readBilling(tx, accountId, at)
  })
}

/** Stores a card on file. Throws `charge_pending`. */
export async function storeCard(
  tx: Writer,
  subscription: SubscriptionRow,
  { card, at }: { readonly card: CardOnFile; readonly at: number },
): Promise<void> {
  const unpaid = await unpaidInvoice(tx, subscription)
  // The charge that is pending stores its own card when it succeeds.
  if (unpaid?.charge?.by === 'account') throw problem('charge_pending', { fields: { invoice_id: unpaid.id } })
  tx.put(subscriptions, { ...subscription, card })
  const data = { card: { ...card.card } }
  await recordBillingEvent(tx, subscription.id, { type: 'billing.card_updated', by: 'account', data, at })
}

/** Removes the card on file, if there is one. Throws `card_in_use`. */
export async function deleteCard(tx: Writer, accountId: number, at: number) {
  const subscription = await subscriptionOf(tx, accountId)
  if (subscription.plan !== 'free' || subscription.unpaid_invoice_id !== null) throw problem('card_in_use')
  if (subscription.card) {
    tx.put(subscriptions, { ...subscription, card: null })
    await recordBillingEvent(tx, accountId, { type: 'billing.card_removed', by: 'account', at })
  }
  return readBilling(tx, accountId, at)
}
