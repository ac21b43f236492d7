import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { postCharge } from '../../jobs/outbox/outbox.js'
import {
  beginCardTry,
  cardDeclined,
  chargeNow,
  checkProcessor,
  endCardTry,
  saveCard,
  unchargedProblem,
} from '../../money/cards/charge.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { countActiveItems } from '../catalog/item.js'
import {
  type CardOnFile,
  callsSince,
  cardOf,
  paidPeriod,
  plans,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
  toDollars,
  usagePeriod,
} from '../plans/plan.js'
import {
  billingEmails,
  cardName,
  formatDollars,
  invoiceName,
  ownInvoice,
  type ShownInvoice,
  showInvoice,
  unpaidInvoice,
} from './invoice.js'
import { type InvoiceRow, invoices, type PendingCharge } from './invoice-row.js'

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

type ShownBilling = Awaited<ReturnType<typeof readBilling>>

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
export async function updateCard(
  accountId: number,
  paymentMethodId: string,
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownBilling>,
): Promise<ShownBilling> {
  const card = await saveAccountCard(accountId, paymentMethodId, service)
  return service.storage.write(async (tx) => {
    const at = service.clock.now()
    const subscription = await subscriptionOf(tx, accountId)
    await storeCard(tx, subscription, { card, at })
    return storeAnswer(tx, await readBilling(tx, accountId, at))
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

/** Charges a card for an invoice that is owed, and returns the paid invoice. A new card is stored on file then. */
export async function payInvoice(
  { accountId, id, paymentMethodId }: { accountId: number; id: number; paymentMethodId: string | undefined },
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownInvoice | Problem>,
): Promise<ShownInvoice> {
  checkProcessor(service)
  await service.storage.read((tx) => payableInvoice(tx, accountId, id))
  const card = paymentMethodId === undefined ? undefined : await saveAccountCard(accountId, paymentMethodId, service)
  return runFlow('payment of an invoice', service, async (run) => {
    const message = await run.transaction('begin', async (tx) => {
      const invoice = await payableInvoice(tx, accountId, id)
      const onFile = card ?? cardOf(await subscriptionOf(tx, accountId))
      const order = { card: onFile, claim: run.token, at: service.clock.now() }
      const message = await postInvoiceCharge(tx, invoice, order, service)
      await storeAnswer(tx, unpaidProblem(await getExisting(tx, invoices, id), undefined), { provisional: true })
      return message
    })
    const result = await chargeNow(message, run, service)
    return run.answer(async (tx) => {
      const invoice = await ownInvoice(tx, accountId, id)
      if (invoice.status === 'paid') return showInvoice(invoice)
      // The service's own charge may have been due meanwhile, and runs now.
      const charge = invoice.charge?.id === message.charge.id ? invoice.charge : null
      return unpaidProblem({ ...invoice, charge }, result)
    }, storeAnswer)
  })
}

async function payableInvoice(tx: Reader, accountId: number, id: number): Promise<InvoiceRow> {
  const invoice = await ownInvoice(tx, accountId, id)
  if (invoice.charge) throw problem('charge_pending', { fields: { invoice_id: id } })
  if (invoice.status === 'open') return invoice
  const { status } = invoice
  throw problem('invoice_not_open', { detail: `The invoice is ${status}.`, fields: { invoice_status: status } })
}

/** Writes the one charge of an invoice. The flow with the token `claim` sends it, or the outbox. Throws `too_many_declines`. */
export async function postInvoiceCharge(
  tx: Writer,
  invoice: InvoiceRow,
  { card, claim, at }: { readonly card: CardOnFile; readonly claim: string | undefined; readonly at: number },
  service: Pick<ServiceContext, 'random'>,
): Promise<CardRow> {
  const { id, account_id, plan, total } = invoice
  const by = claim === undefined ? 'service' : 'account'
  const charge: PendingCharge = { ...card, id: `invoice_${randomHex(service.random, 16)}`, by }
  tx.put(invoices, { ...invoice, charge, next_try_at: by === 'account' ? invoice.next_try_at : null })
  // The service's own charges do not count against the account's limit of declines.
  const subjects = by === 'account' ? ([`account:${account_id}`] as const) : []
  await beginCardTry(tx, { subjects, at })
  const [to = `account ${account_id}`] = await billingEmails(tx, account_id)
  const description = `${plans[plan].name} plan${invoice.number === null ? '' : `, invoice ${invoiceName(invoice)}`}`
  const { payment_method_id } = card
  const wanted = { id: charge.id, payment_method_id, on_file: true, amount: total, decimals: 2 }
  return postCharge(tx, {
    to,
    subject: `Charge ${formatDollars(total)}`,
    text: `${description}: ${formatDollars(total)}, charged to the card on file, ${cardName(card.card)}.`,
    charge: { ...wanted, currency: 'USD', description },
    purpose: 'invoice',
    purposeId: id,
    subjects,
    claim,
    at,
  })
}

/** Says why an invoice is not paid: see `unchargedProblem`. */
export const unpaidProblem = ({ id, charge }: InvoiceRow, result: ChargeResult | undefined): Problem =>
  unchargedProblem(result, {
    isPending: charge !== null,
    failed: 'Nothing was charged. Try again later with a new Idempotency-Key.',
    unknown: `It is not known yet whether the card was charged. farthing settles invoice ${id} by itself and never charges twice for it. Read its status with GET /v4/billing/invoices/${id}.`,
    fields: { invoice_id: id },
  })
