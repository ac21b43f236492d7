import type { CardRow } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { chargeNow, checkProcessor } from '../../money/cards/charge.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isUpgrade, type PlanId, periodOf, plans, prorate } from '../plans/plan.js'
import {
  type CardOnFile,
  cardOf,
  paidPeriod,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
} from '../plans/subscription.js'
import { postInvoiceCharge, readBilling, saveAccountCard, storeCard, unpaidProblem } from './billing.js'
import { draftInvoice, invoiceLine, unpaidInvoice } from './invoice.js'
import { type InvoiceLine, invoices } from './invoice-row.js'
import { settlePaid } from './renewal.js'

/**
 * Changes an account's plan: up at once, after a charge for the rest of the period, and down when the period ends. The
 * current plan cancels a scheduled change. A new card is stored on file, once it is charged if there is a charge. If the
 * outcome of that is unknown, the plan stays, and the outbox settles both later.
 */
export async function updatePlan(
  { accountId, plan, paymentMethodId }: { accountId: number; plan: PlanId; paymentMethodId: string | undefined },
  service: ServiceContext,
) {
  const { storage, clock } = service
  await storage.read((tx) => checkChangeable(tx, accountId, { plan, hasCard: paymentMethodId !== undefined }))
  const card = paymentMethodId === undefined ? undefined : await saveAccountCard(accountId, paymentMethodId, service)
  return runFlow('change of plan', service, async (run) => {
    const message = await run.transaction('begin', (tx) =>
      beginChange(tx, accountId, { plan, card, claim: run.token }, service),
    )
    const result = message && (await chargeNow(message, run, service))
    return storage.read(async (tx) => {
      const invoice = message && (await tx.get(invoices, message.purpose_id))
      if (invoice && invoice.status !== 'paid') return unpaidProblem(invoice, result)
      return readBilling(tx, accountId, clock.now())
    })
  })
}

async function checkChangeable(tx: Reader, accountId: number, { plan, hasCard }: { plan: PlanId; hasCard: boolean }) {
  const subscription = await subscriptionOf(tx, accountId)
  const unpaid = await unpaidInvoice(tx, subscription)
  const isDearer = isUpgrade(subscription.plan, plan)
  if (unpaid && (unpaid.status === 'draft' || (isDearer && unpaid.charge)))
    throw problem('charge_pending', { fields: { invoice_id: unpaid.id } })
  if (unpaid && isDearer)
    throw problem('invoice_unpaid', {
      detail: `Pay it with POST /v4/billing/invoices/${unpaid.id}/pay.`,
      fields: { invoice_id: unpaid.id },
    })
  if (isDearer && !hasCard && !subscription.card)
    throw problem('card_required', { fields: { field: 'payment_method_id' } })
  return subscription
}

interface Chosen {
  readonly plan: PlanId
  readonly card: CardOnFile | undefined
  /** Token of the flow that makes the charge. */
  readonly claim: string
}

async function beginChange(tx: Writer, accountId: number, chosen: Chosen, service: ServiceContext) {
  const { plan, card } = chosen
  const subscription = await checkChangeable(tx, accountId, { plan, hasCard: card !== undefined })
  const at = service.clock.now()
  if (isUpgrade(subscription.plan, plan)) return beginUpgrade(tx, subscription, { ...chosen, at }, service)
  if (card) await storeCard(tx, subscription, { card, at })
  await scheduleChange(tx, accountId, plan, at)
  return undefined
}

/** Schedules a downgrade. The paid plan stays until the period ends. */
async function scheduleChange(tx: Writer, accountId: number, plan: PlanId, at: number): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const next_plan = plan === subscription.plan ? null : plan
  if (next_plan === subscription.next_plan) return
  tx.put(subscriptions, { ...subscription, next_plan })
  const data = { from: subscription.plan, to: plan }
  const type = next_plan === null ? 'billing.plan_change_undone' : 'billing.plan_change_scheduled'
  await recordBillingEvent(tx, accountId, { type, by: 'account', data, at })
}

async function beginUpgrade(
  tx: Writer,
  subscription: SubscriptionRow,
  { plan, card, claim, at }: Chosen & { at: number },
  service: ServiceContext,
): Promise<CardRow | undefined> {
  checkProcessor(service)
  const lines = upgradeLines(subscription, plan, at)
  const draft = await draftInvoice(tx, subscription.id, { reason: 'upgrade', plan, lines, at })
  const onFile = card ?? cardOf(subscription)
  if (draft.total === '0') {
    await settlePaid(tx, draft, { ...service, onFile, by: 'account' })
    return undefined
  }
  tx.put(subscriptions, { ...subscription, unpaid_invoice_id: draft.id })
  return postInvoiceCharge(tx, draft, { card: onFile, claim, at }, service)
}

/** The lines for a first month or the rest of the current one. Throws `charge_pending` if its renewal is due. */
function upgradeLines(subscription: SubscriptionRow, plan: PlanId, at: number): readonly InvoiceLine[] {
  const { name, price } = plans[plan]
  const period = paidPeriod(subscription)
  if (!period) return [invoiceLine(`${name} plan`, price, periodOf(at, 0))]
  if (at >= period.end) throw problem('charge_pending')
  const { charge, credit } = prorate({ from: plans[subscription.plan].price, to: price }, period, at)
  const rest = { start: at, end: period.end }
  return [
    invoiceLine(`${name} plan, rest of the month`, charge, rest),
    invoiceLine(`${plans[subscription.plan].name} plan, not used`, -credit, rest),
  ]
}
