import type { CardRow } from '../../base/message.js'
import { Problem, problem, problemOr } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { checkStored } from '../../identity/users/user.js'
import { type FlowRun, runExclusively, runFlow } from '../../jobs/flows/flow.js'
import { chargeNow, unchargedProblem } from '../../money/cards/charge.js'
import type { PriceQuote } from '../../money/commodities/commodity.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText } from '../../money/ledger/amount.js'
import { payingTwin, twins } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { decryptParameters } from '../catalog/parameter.js'
import { callInFlow, type ServiceAnswer, settlePurchase } from '../purchases/fulfilment.js'
import {
  beginPurchase,
  callOf,
  checkPrice,
  endpointRequest,
  type HeldPurchase,
  type Quote,
  quoteItem,
  spendCalls,
} from '../purchases/purchase.js'
import { showReceipt } from '../purchases/receipt.js'
import { abandonAttempt, beginAttempt, beginCharge, checkoutAttempts, endAttempt, endPaidAttempt } from './attempt.js'
import {
  checkoutByToken,
  checkoutStatus,
  ownerOf,
  receiptIdOf,
  type ShownCheckout,
  showCheckout,
  twinIdOf,
} from './checkout.js'
import {
  type CheckoutRow,
  chargedFor,
  checkoutCharges,
  checkoutOfAttempt,
  checkouts,
  isUser,
  type Payer,
} from './checkout-row.js'
import { refundCharges } from './refund.js'

export type PaymentMethod =
  | { readonly by: 'wallet'; readonly hostname: string | undefined }
  | { readonly by: 'card'; readonly paymentMethodId: string }

export interface Completion {
  readonly token: string
  readonly payer: Payer
  readonly method: PaymentMethod
  readonly seen?: PriceQuote | undefined
  readonly hops: number
  readonly source: CallSource
}

/** Pays a checkout once and delivers. Concurrent calls wait, and its payer gets the same receipt each time. */
export async function completeCheckout(order: Completion, service: ServiceContext): Promise<ShownCheckout> {
  checkHops(order.hops)
  // A guest has no wallet. Value that their card was charged is spent as a card payment.
  if (order.method.by === 'wallet' && !isUser(order.payer)) throw problem('sign_in_required')
  const look = (tx: Reader) => checkoutByToken(tx, order.token)
  const run = () => runFlow('checkout', service, (run) => pay({ order, run, service }))
  const paid = await runExclusively(checkoutAttempts, { look, run }, service)
  if (!paid) throw checkoutPaying(PAYMENT_IN_PROGRESS)
  return paid
}

interface Attempt {
  readonly order: Completion
  readonly run: FlowRun
  readonly chargeId?: number
  readonly service: ServiceContext
}

async function pay(attempt: Attempt): Promise<ShownCheckout | Problem | undefined> {
  const { run, service } = attempt
  let begun = await run.transaction(
    'begin',
    (tx) => begin(tx, attempt),
    async (tx) => abandonAttempt(tx, await checkoutOfAttempt(tx, run.token), service),
  )
  if (begun.message) {
    const chargeId = await chargeCard(begun.message, attempt)
    begun = await run.transaction('go on with the charged value', (tx) => begin(tx, { ...attempt, chargeId }))
  }
  const { purchase, ended } = begun
  if (!purchase) return ended
  const answer = await callInFlow(run, purchase.held, service)
  return run.transaction('settle', (tx) => settle(tx, { ...purchase, answer }, attempt))
}

const PAYMENT_IN_PROGRESS = 'Someone is paying right now. Send the same request again in 5 seconds.'
const OUTCOME_UNKNOWN =
  'It is not known yet whether a card was charged. farthing asks the card processor again, and nobody is charged twice. Send the same request again later.'

const checkoutPaying = (detail: string): Problem =>
  problem('checkout_paying', { detail, headers: { 'retry-after': '5' } })

/** An attempt that has begun: a card to charge, or a purchase to deliver. Otherwise it ended at once. */
interface Begun {
  readonly message?: CardRow
  readonly purchase?: Purchasing
  readonly ended?: ShownCheckout | Problem
}

/** `chargeId`: the charge that pays. Undefined: a wallet pays. */
interface Purchasing {
  readonly held: HeldPurchase
  readonly chargeId: number | undefined
}

/** Begins an attempt, or continues one that has charged a card. Returns nothing if a different one was faster. */
async function begin(tx: Writer, attempt: Attempt): Promise<Begun> {
  const { order, run, chargeId, service } = attempt
  const checkout = await checkoutByToken(tx, order.token)
  const status = checkoutStatus(checkout, service.clock.now())
  if (status === 'expired') throw problem('checkout_expired')
  if (status === 'paid') return { ended: await showToPayer(tx, checkout, order, service) }
  if (status === 'paying' && checkout.attempt === null) throw checkoutPaying(OUTCOME_UNKNOWN)
  if (status === 'paying' && checkout.attempt !== run.token) return {}
  const quote = await quoteOf(tx, checkout)
  // This link can never be paid, so charged cards are refunded.
  if (quote instanceof Problem) return refuseAttempt(tx, checkout, quote, service)
  checkPrice(quote, order.seen ?? {})
  try {
    return await beginPayment(tx, checkout, quote, attempt)
  } catch (error) {
    // A charged card is refunded. Without a charge, throwing undoes the transaction.
    if (chargeId === undefined || !(error instanceof Problem)) throw error
    return refuseAttempt(tx, checkout, error, service)
  }
}

async function showToPayer(
  tx: Reader,
  checkout: CheckoutRow,
  { token, payer }: Pick<Completion, 'token' | 'payer'>,
  { clock, baseUrl, keys }: ServiceContext,
): Promise<ShownCheckout> {
  if (checkout.payer !== payer) throw problem('checkout_paid')
  const receipt = await showReceipt(tx, receiptIdOf(checkout), { keys, for: 'buyer' })
  return showCheckout(tx, checkout, { token, baseUrl, at: clock.now(), receipt })
}

export const quoteOf = (tx: Reader, checkout: CheckoutRow): Promise<Quote | Problem> =>
  problemOr(currentQuote(tx, checkout))

async function currentQuote(tx: Reader, checkout: CheckoutRow) {
  const { catalog_item_id: itemId, arguments: args, within, dq, price } = checkout
  const quote = await quoteItem(tx, { itemId, args, within: within ?? undefined })
  if (quote.quantity.id === dq && String(quote.amount) === price) return quote
  const fields = { catalog_item_id: itemId, price: quote.price, dq: quote.quantity.id }
  const [now, agreed] = [moneyText(quote.amount, quote.quantity), moneyText(price, await quantityOf(tx, dq))]
  const detail = `The price is now ${now}, but this link is for ${agreed}. Ask for a new link.`
  return problem('price_changed', { detail, fields })
}

async function refuseAttempt(tx: Writer, checkout: CheckoutRow, refused: Problem, service: ServiceContext) {
  await endAttempt(tx, checkout, service)
  await refundCharges(tx, checkout, service)
  return { ended: refused }
}

async function beginPayment(
  tx: Writer,
  checkout: CheckoutRow,
  quote: Quote,
  { order, run: { token }, chargeId, service }: Attempt,
): Promise<Begun> {
  const { method } = order
  // The payer may have signed in since the card was charged.
  const { payer } = (chargeId === undefined ? undefined : await tx.get(checkoutCharges, chargeId)) ?? order
  const charged = method.by === 'card' ? await chargedFor(tx, checkout, payer) : undefined
  const begun = checkout.attempt === token ? checkout : await beginAttempt(tx, checkout, token, service)
  const { item, quantity, amount, commodity } = quote
  if (method.by === 'card' && !charged) {
    // Refuses a request that cannot be delivered before a card is charged.
    endpointRequest(item, checkout.arguments, await decryptParameters(tx, item.id, service))
    const { source } = order
    const card = { paymentMethodId: method.paymentMethodId, description: commodity.descriptor, source, claim: token }
    return { message: await beginCharge(tx, begun, { payer, quantity, units: amount, ...card }, service) }
  }
  const buyer = ownerOf(checkout, payer)
  const twin =
    method.by === 'wallet'
      ? await payingTwin(tx, buyer, method.hostname)
      : await getExisting(tx, twins, twinIdOf(checkout))
  const at = service.clock.now()
  // A card pays for the call of the attempt that charges it. Whoever tries again pays nothing more.
  if (chargeId === undefined) {
    const call = charged ? { ...callOf(quote), amount: 0n } : callOf(quote)
    await spendCalls(tx, [call], { bearer: buyer, at }, service)
  }
  // A charged card has paid already.
  if (!charged) await checkStored(tx, { owner: buyer }, service)
  const by = { payer: twin, buyer, bearer: buyer, actor: buyer, delegate: null, hops: order.hops, token }
  const terms = { quote, args: checkout.arguments, ...by, at }
  const held = await beginPurchase(tx, terms, service)
  tx.put(checkouts, { ...begun, receipt_id: held.id })
  return { purchase: { held, chargeId: charged?.id } }
}

/** Returns the charge's id. Throws if the card is not charged. An unknown outcome blocks the checkout. */
async function chargeCard(message: CardRow, { run, service }: Attempt): Promise<number> {
  const result = await chargeNow(message, run, service)
  const charge = await service.storage.read((tx) => tx.get(checkoutCharges, message.purpose_id))
  if (charge?.status === 'charged') return charge.id
  const failed = 'Nothing was charged. Try again later.'
  throw unchargedProblem(result, { isPending: charge?.status !== 'failed', failed, unknown: OUTCOME_UNKNOWN })
}

async function settle(
  tx: Writer,
  { held, chargeId, answer }: Purchasing & { readonly answer: ServiceAnswer },
  { order, run, service }: Attempt,
): Promise<ShownCheckout | Problem> {
  const { receipt, failure } = await settlePurchase(tx, held, answer, service, { readLater: true })
  const checkout = await checkoutOfAttempt(tx, run.token)
  if (receipt.status !== 'paid') {
    if (checkout) await endAttempt(tx, checkout, service)
    return problem('upstream_failed', { detail: `${failure} ${reversedText(order.method)}` })
  }
  // Without its checkout the purchase must not be paid. Throwing undoes the posting.
  if (!checkout) throw new Error(`purchase ${held.id} outlived its attempt`)
  const paid = await endPaidAttempt(tx, checkout, { payer: order.payer, receiptId: held.id, chargeId }, service)
  const { clock, baseUrl } = service
  return showCheckout(tx, paid, { token: order.token, baseUrl, at: clock.now(), receipt })
}

const reversedText = ({ by }: PaymentMethod): string =>
  by === 'wallet'
    ? 'Nothing was charged. Try again.'
    : 'Try again: your card is not charged a second time. If you do not, the amount is refunded.'
