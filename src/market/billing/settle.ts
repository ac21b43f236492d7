import type { ServiceContext } from '../../http/context.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import type { GiveUpCharge, SettleCharge } from '../../money/cards/charge.js'
import type { Writer } from '../../storage/storage.js'
import { periodOf } from '../plans/period.js'
import type { PlanId } from '../plans/plan.js'
import {
  type CardOnFile,
  FREE_PLAN,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
} from '../plans/subscription.js'
import { type InvoiceRow, invoices, issue, type PendingCharge, tellInvoice } from './invoice.js'
import { type FailedCharge, mailCancelled, mailFailure, mailReceipt } from './mail.js'

/** The kind of timer that ends a paid period; its subject is the account's id. */
export const BILLING_PERIOD_ENDS = 'billing_period_ends'
/** The kind of timer that charges a card again; its subject is the invoice's id. */
export const BILLING_TRY_AGAIN = 'billing_try_again'

const DAY = 86_400_000
/** How long after each charge in vain the next one comes: 1, 3 and 7 days after the first, and later where the service slept over one. */
const GAPS = [DAY, 2 * DAY, 4 * DAY]

/** Whether the service has made all of its tries for an invoice: the first charge, and one after each gap. */
export const isTried = ({ failures }: InvoiceRow): boolean => failures > GAPS.length

type Settling = Pick<ServiceContext, 'clock' | 'baseUrl'>

/** Notes what came of an invoice's charge: once, however it is called. */
export const settleInvoiceCharge: SettleCharge = async (tx, { id, result }, service) => {
  const invoice = await tx.get(invoices, id)
  if (!invoice?.charge) return
  const { charge } = invoice
  const settled: InvoiceRow = { ...invoice, charge: null }
  if (result.status === 'succeeded') {
    const { charge_id, card = charge.card } = result
    return settlePaid(tx, { ...settled, charge_id, card }, { onFile: charge, by: charge.by, ...service })
  }
  await settleFailed(tx, settled, { charge, result }, service)
}

/** Marks an invoice as paid, whose card was charged or that was over nothing, and gives what it is for. */
export async function settlePaid(
  tx: Writer,
  invoice: InvoiceRow,
  { onFile, by, clock, baseUrl }: Settling & { readonly onFile: CardOnFile; readonly by: PendingCharge['by'] },
): Promise<void> {
  const at = clock.now()
  const issued = invoice.number === null ? await issue(tx, invoice, at) : invoice
  const paid: InvoiceRow = { ...issued, status: 'paid', paid_at: at, next_try_at: null }
  tx.put(invoices, paid)
  const { charge_id, card } = paid
  const told = charge_id === null ? {} : { charge_id, card: card && { ...card } }
  await tellInvoice(tx, paid, { type: 'billing.invoice_paid', told, by, at })
  const subscription = await subscriptionOf(tx, paid.account_id)
  const current: SubscriptionRow = { ...subscription, status: 'active', unpaid_invoice_id: null }
  // The account's own card may be another than was on file; the service's own tries may find that replaced meanwhile.
  const kept = by === 'account' ? { ...current, card: keptOf(onFile) } : current
  if (paid.reason === 'renewal') tx.put(subscriptions, kept)
  else await upgrade(tx, kept, { to: paid.plan, from: paid.created_at, at })
  await mailReceipt(tx, paid, { baseUrl, at })
}

const keptOf = ({ payment_method_id, card }: CardOnFile): CardOnFile => ({ payment_method_id, card })

/** `from`: when the plan was asked for, which begins the first paid period. */
async function upgrade(
  tx: Writer,
  subscription: SubscriptionRow,
  { to, from, at }: { readonly to: PlanId; readonly from: number; readonly at: number },
): Promise<void> {
  const anchor_at = subscription.anchor_at ?? from
  tx.put(subscriptions, { ...subscription, plan: to, next_plan: null, anchor_at })
  if (subscription.anchor_at === null) await setPeriodTimer(tx, subscription.id, periodOf(from, 0).end)
  await tellPlan(tx, subscription, { to, by: 'account', at })
}

export const setPeriodTimer = (tx: Writer, accountId: number, at: number): Promise<number> =>
  setTimer(tx, { kind: BILLING_PERIOD_ENDS, subject: String(accountId), at })

export const tellPlan = (
  tx: Writer,
  { id, plan: from }: SubscriptionRow,
  { to, by, at }: { readonly to: PlanId; readonly by: 'account' | 'service'; readonly at: number },
): Promise<void> => recordBillingEvent(tx, id, { type: 'billing.plan_changed', by, data: { from, to }, at })

const reasonOf = (result: FailedCharge): string =>
  result.status === 'declined' ? result.reason : 'the card processor was not available'

async function settleFailed(
  tx: Writer,
  invoice: InvoiceRow,
  { charge, result }: { readonly charge: PendingCharge; readonly result: FailedCharge },
  service: Settling,
): Promise<void> {
  const at = service.clock.now()
  const reason = reasonOf(result)
  const told = { reason, card: { ...charge.card } }
  await tellInvoice(tx, invoice, { type: 'billing.payment_failed', told, by: charge.by, at })
  if (invoice.status === 'draft') await voidInvoice(tx, invoice, { at })
  else if (charge.by === 'account') await stayOpen(tx, invoice, at)
  else await settleOverdue(tx, invoice, result, service)
}

/** What the account tries itself puts off no try of the service, and hastens none: one that fell due meanwhile comes now. */
async function stayOpen(tx: Writer, invoice: InvoiceRow, at: number): Promise<void> {
  tx.put(invoices, invoice)
  if (invoice.next_try_at !== null && invoice.next_try_at <= at)
    await setTimer(tx, { kind: BILLING_TRY_AGAIN, subject: String(invoice.id), at })
}

/** A renewal that the service charged in vain: it is tried again, and cancelled at last. */
async function settleOverdue(
  tx: Writer,
  invoice: InvoiceRow,
  result: FailedCharge,
  { clock, baseUrl }: Settling,
): Promise<void> {
  const at = clock.now()
  const isFirst = invoice.failed_at === null
  const failed_at = invoice.failed_at ?? at
  const failures = invoice.failures + 1
  const isOver = isTried({ ...invoice, failures })
  if (isOver && result.status === 'declined') return cancelSubscription(tx, invoice, { clock, baseUrl })
  // A processor that is out of order cancels no plan.
  const next_try_at = at + (GAPS[failures - 1] ?? DAY)
  const failed: InvoiceRow = { ...invoice, failures, failed_at, next_try_at }
  tx.put(invoices, failed)
  await setTimer(tx, { kind: BILLING_TRY_AGAIN, subject: String(invoice.id), at: next_try_at })
  const subscription = await subscriptionOf(tx, invoice.account_id)
  tx.put(subscriptions, { ...subscription, status: 'past_due' })
  if (isFirst) await tellInvoice(tx, failed, { type: 'billing.past_due', at })
  // Of each day that a processor stays out of order nobody needs a mail.
  if (isOver) return
  const isLast = failures === GAPS.length
  await mailFailure(tx, failed, { result, isLast, baseUrl, at })
}

/** Ends a plan over an invoice that is not paid: the account is back on the free one. */
export async function cancelSubscription(tx: Writer, invoice: InvoiceRow, { clock, baseUrl }: Settling): Promise<void> {
  const at = clock.now()
  const lost: InvoiceRow = { ...invoice, status: 'uncollectible', next_try_at: null }
  tx.put(invoices, lost)
  const subscription = await subscriptionOf(tx, invoice.account_id)
  tx.put(subscriptions, { ...subscription, ...FREE_PLAN, status: 'cancelled', unpaid_invoice_id: null })
  await tellInvoice(tx, lost, { type: 'billing.cancelled', at })
  await tellPlan(tx, subscription, { to: 'free', by: 'service', at })
  await mailCancelled(tx, lost, { baseUrl, at })
}

/** Nothing is owed for it any more. A draft that was never issued takes no number. */
async function voidInvoice(tx: Writer, invoice: InvoiceRow, { told = {}, at }: { told?: object; at: number }) {
  const voided: InvoiceRow = { ...invoice, status: 'void', charge: null, next_try_at: null }
  tx.put(invoices, voided)
  const subscription = await subscriptionOf(tx, invoice.account_id)
  const status = subscription.status === 'past_due' ? 'active' : subscription.status
  tx.put(subscriptions, { ...subscription, status, unpaid_invoice_id: null })
  await tellInvoice(tx, voided, { type: 'billing.invoice_voided', told: { ...told }, at })
}

/**
 * A processor that said nothing for days may have charged the card, and asking again might charge it twice: so nothing more is asked
 * for the invoice, and whoever runs the service looks up what came of the charge that the event names.
 */
export const loseInvoiceCharge: GiveUpCharge = async (tx, { id, chargeId }, { clock }) => {
  const invoice = await tx.get(invoices, id)
  if (!invoice?.charge) return
  await voidInvoice(tx, invoice, { told: { unknown_charge: chargeId }, at: clock.now() })
}
