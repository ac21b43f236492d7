import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { chargeNow, checkProcessor, type GiveUpCharge, type SettleCharge } from '../../money/cards/charge.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type CardOnFile,
  cardOf,
  dayOf,
  FREE_PLAN,
  isUpgrade,
  type PlanId,
  paidPeriod,
  periodOf,
  plans,
  prorate,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
} from '../plans/plan.js'
import { postInvoiceCharge, readBilling, saveAccountCard, storeCard, unpaidProblem } from './billing.js'
import {
  billingEmails,
  cardName,
  draftInvoice,
  formatDollars,
  invoiceLine,
  invoiceName,
  issueInvoice,
  recordInvoiceEvent,
  unpaidInvoice,
} from './invoice.js'
import {
  BILLING_PERIOD_ENDS,
  BILLING_RETRY,
  type InvoiceLine,
  type InvoiceRow,
  invoices,
  type PendingCharge,
} from './invoice-row.js'

const HOUR_MS = 3_600_000

/** Begins an account's next period or ends its plan. While an invoice may still be charged, the current one continues. */
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
  if (plan !== 'free') return renew(tx, subscription, plan, service)
  tx.put(subscriptions, { ...subscription, ...FREE_PLAN })
  await recordPlanChange(tx, subscription, { to: 'free', by: 'service', at: now })
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

export const retryInvoice: TimerJob = async (tx, subject, service) => {
  const at = service.clock.now()
  const invoice = await tx.get(invoices, Number(subject))
  if (invoice?.status !== 'open' || invoice.charge || invoice.next_try_at === null || invoice.next_try_at > at) return
  const subscription = await subscriptionOf(tx, invoice.account_id)
  await postInvoiceCharge(tx, invoice, { card: cardOf(subscription), claim: undefined, at }, service)
}

const DAY_MS = 86_400_000
/** Delays between failed charges: 1, 3 and 7 days after the first one, or later if the service was not running. */
const RETRY_DELAYS_MS = [DAY_MS, 2 * DAY_MS, 4 * DAY_MS]
const hasNoRetryLeft = ({ failures }: InvoiceRow): boolean => failures > RETRY_DELAYS_MS.length
type Settling = Pick<ServiceContext, 'clock' | 'baseUrl'>

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

export async function settlePaid(
  tx: Writer,
  invoice: InvoiceRow,
  { onFile, by, clock, baseUrl }: Settling & { readonly onFile: CardOnFile; readonly by: PendingCharge['by'] },
): Promise<void> {
  const at = clock.now()
  const issued = invoice.number === null ? await issueInvoice(tx, invoice, at) : invoice
  const paid: InvoiceRow = { ...issued, status: 'paid', paid_at: at, next_try_at: null }
  tx.put(invoices, paid)
  const { charge_id, card } = paid
  const data = charge_id === null ? {} : { charge_id, card: card && { ...card } }
  await recordInvoiceEvent(tx, paid, { type: 'billing.invoice_paid', data, by, at })
  const subscription = await subscriptionOf(tx, paid.account_id)
  const current: SubscriptionRow = { ...subscription, status: 'active', unpaid_invoice_id: null }
  // The account may have paid with a new card. The service's own charges never replace the card on file.
  const { payment_method_id, card: charged } = onFile
  const kept = by === 'account' ? { ...current, card: { payment_method_id, card: charged } } : current
  if (paid.reason === 'renewal') tx.put(subscriptions, kept)
  else await upgrade(tx, kept, { to: paid.plan, from: paid.created_at, at })
  await mailReceipt(tx, paid, { baseUrl, at })
}

/** `from`: when the plan was requested. The first paid period begins then. */
async function upgrade(
  tx: Writer,
  subscription: SubscriptionRow,
  { to, from, at }: { to: PlanId; from: number; at: number },
): Promise<void> {
  const anchor_at = subscription.anchor_at ?? from
  tx.put(subscriptions, { ...subscription, plan: to, next_plan: null, anchor_at })
  if (subscription.anchor_at === null) await setPeriodTimer(tx, subscription.id, periodOf(from, 0).end)
  await recordPlanChange(tx, subscription, { to, by: 'account', at })
}

const setPeriodTimer = (tx: Writer, accountId: number, at: number): Promise<number> =>
  setTimer(tx, { kind: BILLING_PERIOD_ENDS, subject: String(accountId), at })

const recordPlanChange = (
  tx: Writer,
  { id, plan: from }: SubscriptionRow,
  { to, by, at }: { to: PlanId; by: 'account' | 'service'; at: number },
): Promise<void> => recordBillingEvent(tx, id, { type: 'billing.plan_changed', by, data: { from, to }, at })

async function settleFailed(
  tx: Writer,
  invoice: InvoiceRow,
  { charge, result }: { readonly charge: PendingCharge; readonly result: FailedCharge },
  service: Settling,
): Promise<void> {
  const at = service.clock.now()
  const reason = result.status === 'declined' ? result.reason : 'the card processor was not available'
  const data = { reason, card: { ...charge.card } }
  await recordInvoiceEvent(tx, invoice, { type: 'billing.payment_failed', data, by: charge.by, at })
  if (invoice.status === 'draft') await voidInvoice(tx, invoice, { at })
  else if (charge.by === 'service') await settleOverdue(tx, invoice, result, service)
  else {
    tx.put(invoices, invoice)
    // The service's schedule stays. A charge that was due meanwhile comes now.
    if (invoice.next_try_at !== null && invoice.next_try_at <= at)
      await setTimer(tx, { kind: BILLING_RETRY, subject: String(invoice.id), at })
  }
}

async function settleOverdue(tx: Writer, invoice: InvoiceRow, result: FailedCharge, { clock, baseUrl }: Settling) {
  const at = clock.now()
  const isFirst = invoice.failed_at === null
  const failed_at = invoice.failed_at ?? at
  const failures = invoice.failures + 1
  const isOver = hasNoRetryLeft({ ...invoice, failures })
  if (isOver && result.status === 'declined') return cancelSubscription(tx, invoice, { clock, baseUrl })
  // A processor that is unavailable never cancels a plan.
  const next_try_at = at + (RETRY_DELAYS_MS[failures - 1] ?? DAY_MS)
  const failed: InvoiceRow = { ...invoice, failures, failed_at, next_try_at }
  tx.put(invoices, failed)
  await setTimer(tx, { kind: BILLING_RETRY, subject: String(invoice.id), at: next_try_at })
  const subscription = await subscriptionOf(tx, invoice.account_id)
  tx.put(subscriptions, { ...subscription, status: 'past_due' })
  if (isFirst) await recordInvoiceEvent(tx, failed, { type: 'billing.past_due', at })
  // One mail is enough while a processor stays unavailable for days.
  if (isOver) return
  const isLast = failures === RETRY_DELAYS_MS.length
  await mailFailure(tx, failed, { result, isLast, baseUrl, at })
}

async function cancelSubscription(tx: Writer, invoice: InvoiceRow, { clock, baseUrl }: Settling): Promise<void> {
  const at = clock.now()
  const lost: InvoiceRow = { ...invoice, status: 'uncollectible', next_try_at: null }
  tx.put(invoices, lost)
  const subscription = await subscriptionOf(tx, invoice.account_id)
  tx.put(subscriptions, { ...subscription, ...FREE_PLAN, status: 'cancelled', unpaid_invoice_id: null })
  await recordInvoiceEvent(tx, lost, { type: 'billing.cancelled', at })
  await recordPlanChange(tx, subscription, { to: 'free', by: 'service', at })
  await mailCancelled(tx, lost, { baseUrl, at })
}

/** Voids an invoice, so that nothing is owed. A draft keeps no number. */
async function voidInvoice(tx: Writer, invoice: InvoiceRow, { data = {}, at }: { data?: object; at: number }) {
  const voided: InvoiceRow = { ...invoice, status: 'void', charge: null, next_try_at: null }
  tx.put(invoices, voided)
  const subscription = await subscriptionOf(tx, invoice.account_id)
  const status = subscription.status === 'past_due' ? 'active' : subscription.status
  tx.put(subscriptions, { ...subscription, status, unpaid_invoice_id: null })
  await recordInvoiceEvent(tx, voided, { type: 'billing.invoice_voided', data: { ...data }, at })
}

/** Voids an invoice whose charge has an unknown outcome for days. A new charge might be a second one. The operator looks it up. */
export const loseInvoiceCharge: GiveUpCharge = async (tx, { id, chargeId }, { clock }) => {
  const invoice = await tx.get(invoices, id)
  if (!invoice?.charge) return
  await voidInvoice(tx, invoice, { data: { unknown_charge: chargeId }, at: clock.now() })
}

async function mailInvoice(
  tx: Writer,
  { id, account_id }: InvoiceRow,
  { subject, paragraphs, baseUrl, at }: Mailing & { subject: string; paragraphs: readonly string[] },
): Promise<void> {
  const owner = `account:${account_id}` as const
  const link = `Your invoice, with the account's credentials: ${baseUrl}/v4/billing/invoices/${id}.pdf`
  const text = [...paragraphs, link].join('\n\n')
  const mail = { kind: 'billing', owner, causer: owner, subject, text, ownLinks: baseUrl, at } as const
  for (const to of await billingEmails(tx, account_id)) await sendMail(tx, { ...mail, to })
}

function mailReceipt(tx: Writer, invoice: InvoiceRow, mailing: Mailing): Promise<void> {
  const { card, total } = invoice
  const lines = invoice.lines.map(({ description, amount }) => `${description}: ${formatDollars(amount)}`)
  const paid = card
    ? `We charged ${formatDollars(total)} to your card, ${cardName(card)}.`
    : `There was nothing to charge: ${formatDollars(total)}.`
  const paragraphs = [`Thank you. ${paid}`, lines.join('\n')]
  return mailInvoice(tx, invoice, { subject: `Receipt for invoice ${invoiceName(invoice)}`, paragraphs, ...mailing })
}

interface Mailing {
  readonly baseUrl: string
  readonly at: number
}

type FailedCharge = Exclude<ChargeResult, { status: 'succeeded' }>

/** Mails that a charge failed and when the next one is. The last mail says that the plan ends if the next charge fails. */
function mailFailure(
  tx: Writer,
  invoice: InvoiceRow,
  { result, isLast, ...mailing }: Mailing & { readonly result: FailedCharge; readonly isLast: boolean },
): Promise<void> {
  const { plan, total, next_try_at } = invoice
  const when = dayOf(required(next_try_at, `the next try of invoice ${invoice.id}`))
  const isDeclined = result.status === 'declined'
  const why = isDeclined
    ? `We could not charge ${formatDollars(total)} to your card. The card processor's reason: ${result.reason}.`
    : `We could not charge ${formatDollars(total)} because the card processor was not available. Nothing is wrong with your card.`
  const outlook = isLast
    ? `We will try once more on ${when}. If your card is declined then, we cancel the ${plans[plan].name} plan and the account returns to the free plan.`
    : `We will try again on ${when}. Nothing changes until then.`
  const sooner = isDeclined
    ? 'To pay sooner, pay the invoice with a different card'
    : 'To pay sooner, pay the invoice yourself'
  const name = invoiceName(invoice)
  const subject = isLast ? `Last try for invoice ${name}` : `Payment of invoice ${name} failed`
  const next = `${outlook} ${sooner}: POST ${mailing.baseUrl}/v4/billing/invoices/${invoice.id}/pay.`
  return mailInvoice(tx, invoice, { subject, paragraphs: [why, next], ...mailing })
}

function mailCancelled(tx: Writer, invoice: InvoiceRow, mailing: Mailing): Promise<void> {
  const { plan, total } = invoice
  const { name } = plans[plan]
  const paragraphs = [
    `Invoice ${invoiceName(invoice)} for ${formatDollars(total)} was not paid, so we cancelled the ${name} plan. Your account is now on the free plan, and we charge nothing more.`,
    `Everything you created stays. To continue, choose a plan with a different card: PUT ${mailing.baseUrl}/v4/billing/plan.`,
  ]
  return mailInvoice(tx, invoice, { subject: `Your ${name} plan is cancelled`, paragraphs, ...mailing })
}

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
