import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import type { Writer } from '../../storage/storage.js'
import { periodOf } from '../plans/period.js'
import { type PlanId, plans } from '../plans/plan.js'
import {
  cardOf,
  FREE_PLAN,
  paidPeriod,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
} from '../plans/subscription.js'
import { postInvoiceCharge } from './charge.js'
import { draftInvoice, invoiceLine, issueInvoice, unpaidInvoice } from './invoice.js'
import { BILLING_PERIOD_ENDS, invoices } from './invoice-row.js'
import { cancelSubscription, hasNoRetryLeft, recordPlanChange, setPeriodTimer } from './settle.js'

const HOUR_MS = 3_600_000

/**
 * Begins an account's next period or ends its plan. While an invoice may still be charged, the current period
 * continues.
 */
export const endPeriod: TimerJob = async (tx, subject, service) => {
  const now = service.clock.now()
  const subscription = await subscriptionOf(tx, Number(subject))
  const period = paidPeriod(subscription)
  // The plan was cancelled or chosen again since the timer was set.
  if (!period || period.end > now) return
  const unpaid = await unpaidInvoice(tx, subscription)
  if (unpaid && (unpaid.charge || !hasNoRetryLeft(unpaid))) {
    const settled = Math.max(unpaid.next_try_at ?? now, now)
    await setTimer(tx, { kind: BILLING_PERIOD_ENDS, subject, at: settled + HOUR_MS })
    return
  }
  if (unpaid) return cancelSubscription(tx, unpaid, service)
  const plan = subscription.next_plan ?? subscription.plan
  if (plan === 'free') return endPaidPlan(tx, subscription, now)
  await renew(tx, subscription, plan, service)
}

async function endPaidPlan(tx: Writer, subscription: SubscriptionRow, at: number): Promise<void> {
  tx.put(subscriptions, { ...subscription, ...FREE_PLAN })
  await recordPlanChange(tx, subscription, { to: 'free', by: 'service', at })
}

async function renew(tx: Writer, subscription: SubscriptionRow, plan: PlanId, service: ServiceContext): Promise<void> {
  const at = service.clock.now()
  const { id, anchor_at } = subscription
  const number = subscription.period + 1
  const period = periodOf(required(anchor_at, `the start of the plan of account ${id}`), number)
  const { name, price } = plans[plan]
  const lines = [invoiceLine(`${name} plan`, price, period)]
  const invoice = await issueInvoice(tx, await draftInvoice(tx, id, { reason: 'renewal', plan, lines, at }), at)
  const { invoices: issued } = await subscriptionOf(tx, id)
  const renewed = { plan, next_plan: null, period: number, unpaid_invoice_id: invoice.id, invoices: issued }
  tx.put(subscriptions, { ...subscription, ...renewed })
  if (plan !== subscription.plan) await recordPlanChange(tx, subscription, { to: plan, by: 'service', at })
  await setPeriodTimer(tx, id, period.end)
  await postInvoiceCharge(tx, invoice, { card: cardOf(subscription), claim: undefined, at }, service)
}

/** Charges the card on file for an open invoice again. */
export const retryInvoice: TimerJob = async (tx, subject, service) => {
  const at = service.clock.now()
  const invoice = await tx.get(invoices, Number(subject))
  if (invoice?.status !== 'open' || invoice.charge || invoice.next_try_at === null || invoice.next_try_at > at) return
  const subscription = await subscriptionOf(tx, invoice.account_id)
  await postInvoiceCharge(tx, invoice, { card: cardOf(subscription), claim: undefined, at }, service)
}
