import type { CardRow } from '../../base/message.js'
import { Problem, problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { checkHops } from '../../base/via.js'
import type { ServiceContext } from '../../http/context.js'
import { events } from '../../jobs/events/event.js'
import { cardDeclined, chargeNow } from '../../money/cards/charge-now.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { ownTwin, primaryTwin, type TwinRow, twins } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { decryptParameters } from '../catalog/parameter.js'
import { endpointRequest } from '../purchases/dispatch.js'
import { deliver } from '../purchases/fulfilment.js'
import { beginPurchase, checkPrice, type HeldPurchase, type Quote, quoteItem } from '../purchases/purchase.js'
import { showReceipt } from '../purchases/receipt.js'
import { beginAttempt, endAttempt, endDeadAttempt, endPaidAttempt } from './attempt.js'
import { runAttempt, watchAttempt } from './attempt-watch.js'
import { beginCharge } from './card.js'
import { chargedFor, checkoutCharges } from './charge.js'
import {
  type CheckoutRow,
  checkoutByToken,
  checkoutOfAttempt,
  checkoutStatus,
  checkouts,
  isUser,
  ownerOf,
  type Payer,
  receiptIdOf,
  type ShownCheckout,
  showCheckout,
  twinIdOf,
} from './checkout.js'
import { refundCharges } from './refund.js'

/** How a checkout is paid. `hostname` default: the user's first wallet. */
export type PaymentMethod =
  | { readonly by: 'wallet'; readonly hostname: string | undefined }
  | { readonly by: 'card'; readonly paymentMethodId: string }

export interface Completion {
  /** The secret of the link. */
  readonly token: string
  readonly payer: Payer
  readonly method: PaymentMethod
  readonly seen?: PriceQuote | undefined
  /** Hops of the request, as `hopsIn` counts them. */
  readonly hops: number
}

/** How often to check an attempt of a different process. */
const CHECK_MS = 1000

/**
 * Pays a checkout once and delivers what is bought. Concurrent calls wait for the running attempt. The payer gets the
 * same receipt each time.
 * Throws `too_many_hops`, `not_found`, `sign_in_required`, `checkout_paid` for anyone but the payer, `checkout_paying`
 * while the outcome of a charge is unknown, `checkout_expired`, `price_changed`, `card_minimum`, `too_many_declines`,
 * `card_declined`, `processor_failed`, `upstream_failed`, and what `quoteItem`, `ownTwin` and `beginPurchase` throw.
 * The checkout is unpaid again then.
 */
export async function completeCheckout(order: Completion, service: ServiceContext): Promise<ShownCheckout> {
  checkHops(order.hops)
  // A guest has no wallet. Value that their card was charged is spent as a card payment.
  if (order.method.by === 'wallet' && !isUser(order.payer)) throw problem('sign_in_required')
  const watch = watchAttempt(service)
  try {
    for (;;) {
      const checkout = await service.storage.read((tx) => checkoutByToken(tx, order.token))
      const state = watch.check(checkout)
      if (state === 'stuck') throw checkoutPaying(SOMEBODY_PAYS)
      if (state === 'dead') await service.storage.write((tx) => endDeadAttempt(tx, checkout, service))
      const isFree = checkout.attempt === null || state === 'dead'
      const paid = isFree ? await attemptOnce(order, service) : undefined
      if (paid) return paid
      if (!(await service.background.nextWrite([events.name], CHECK_MS))) throw checkoutPaying(SOMEBODY_PAYS)
    }
  } finally {
    watch.stop()
  }
}

/** Runs one attempt. Returns undefined if a different attempt was faster. */
function attemptOnce(order: Completion, service: ServiceContext): Promise<ShownCheckout | undefined> {
  const attempt = randomHex(service.random, 16)
  const run = async () => {
    const claimed = await service.storage.write((tx) => claim(tx, order, { attempt }, service))
    if (claimed.kind === 'paid') return claimed.checkout
    if (claimed.kind === 'refused') throw claimed.refused
    return claimed.kind === 'wait' ? undefined : proceed(order, claimed, service)
  }
  return runAttempt(attempt, run(), service)
}

const SOMEBODY_PAYS = 'Somebody is paying right now. Send the same request again in 5 seconds.'
const OUTCOME_UNKNOWN =
  'It is not known yet whether a card was charged. farthing asks the card processor again, and nobody is charged twice. Send the same request again later.'

const checkoutPaying = (detail: string): Problem =>
  problem('checkout_paying', { detail, headers: { 'retry-after': '5' } })

/** An attempt that has begun: a card to charge, or a purchase to deliver. */
type BegunAttempt =
  | { readonly kind: 'charge'; readonly attempt: string; readonly message: CardRow }
  | (Purchasing & { readonly kind: 'fulfil' })

/** `chargeId`: the charge that pays. Undefined: a wallet pays. */
interface Purchasing {
  readonly attempt: string
  readonly held: HeldPurchase
  readonly chargeId: number | undefined
}

type Claimed =
  | BegunAttempt
  | { readonly kind: 'paid'; readonly checkout: ShownCheckout }
  | { readonly kind: 'wait' }
  | { readonly kind: 'refused'; readonly refused: Problem }

const WAIT = { kind: 'wait' } as const

/** An attempt. `chargeId` is set if it has charged a card. */
interface Attempt {
  readonly attempt: string
  readonly chargeId?: number
}

/** Begins an attempt, or continues one that has charged a card. */
async function claim(
  tx: Writer,
  order: Completion,
  { attempt, chargeId }: Attempt,
  service: ServiceContext,
): Promise<Claimed> {
  const checkout = await checkoutByToken(tx, order.token)
  const status = checkoutStatus(checkout, service.clock.now())
  if (status === 'expired') throw problem('checkout_expired')
  if (status === 'paid') return { kind: 'paid', checkout: await showToPayer(tx, checkout, order, service) }
  if (status === 'paying' && checkout.attempt === null) throw checkoutPaying(OUTCOME_UNKNOWN)
  if (status === 'paying' && checkout.attempt !== attempt) return WAIT
  const quote = await quoteOf(tx, checkout)
  // This link can never be paid, so charged cards are refunded.
  if (quote instanceof Problem) return refuseAttempt(tx, checkout, quote, service)
  checkPrice(quote, order.seen ?? {})
  // The payer may have signed in since the card was charged.
  const charge = chargeId === undefined ? undefined : await tx.get(checkoutCharges, chargeId)
  const payer = charge?.payer ?? order.payer
  try {
    return await beginPayment(tx, { order: { ...order, payer }, checkout, quote, attempt }, service)
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

/** Returns the quote of a link, or the problem that makes it unusable. */
export async function quoteOf(tx: Reader, checkout: CheckoutRow): Promise<Quote | Problem> {
  const { catalog_item_id: itemId, arguments: args, within, dq, price } = checkout
  try {
    const quote = await quoteItem(tx, { itemId, args, within: within ?? undefined })
    if (quote.quantity.id === dq && String(quote.amount) === price) return quote
    const { decimals, shortcode } = quote.quantity
    const now = `${formatAmount(quote.amount, decimals)} ${shortcode}`
    const fields = { catalog_item_id: itemId, price: quote.price, dq: quote.quantity.id }
    const { decimals: places, shortcode: unit } = await quantityOf(tx, dq)
    const detail = `The price is now ${now}, but this link is for ${formatAmount(price, places)} ${unit}. Ask for a new link.`
    return problem('price_changed', { detail, fields })
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

async function refuseAttempt(
  tx: Writer,
  checkout: CheckoutRow,
  refused: Problem,
  service: ServiceContext,
): Promise<Extract<Claimed, { kind: 'refused' }>> {
  await endAttempt(tx, checkout, service)
  await refundCharges(tx, checkout, service)
  return { kind: 'refused', refused }
}

interface Begin {
  readonly order: Completion
  readonly checkout: CheckoutRow
  readonly quote: Quote
  readonly attempt: string
}

async function beginPayment(
  tx: Writer,
  { order, checkout, quote, attempt }: Begin,
  service: ServiceContext,
): Promise<BegunAttempt> {
  const { payer, method } = order
  const charged = method.by === 'card' ? await chargedFor(tx, checkout, payer) : undefined
  const twin = charged ? await tx.get(twins, twinIdOf(checkout)) : await payersTwin(tx, checkout, order)
  const attempted = checkout.attempt === attempt ? checkout : await beginAttempt(tx, checkout, attempt, service)
  if (!twin && method.by === 'card') {
    const { quantity, amount, commodity } = quote
    const { paymentMethodId } = method
    // Refuses a request that cannot be delivered before a card is charged.
    endpointRequest(quote.item, checkout.arguments, await decryptParameters(tx, quote.item.id, service))
    const charge = { payer, quantity, amount, paymentMethodId, description: commodity.descriptor }
    return { kind: 'charge', attempt, message: await beginCharge(tx, attempted, charge, service) }
  }
  if (!twin) throw problem('insufficient_funds', { detail: 'The payer has no twin.' })
  const buyer = ownerOf(checkout, payer)
  const terms = { quote, args: checkout.arguments, payer: twin, buyer, actor: buyer, delegate: null, hops: order.hops }
  const held = await beginPurchase(tx, { ...terms, at: service.clock.now() }, service)
  tx.put(checkouts, { ...attempted, receipt_id: held.id })
  return { kind: 'fulfil', attempt, held, chargeId: charged?.id }
}

/** Returns the paying twin, or undefined for a payment by card. */
async function payersTwin(
  tx: Reader,
  checkout: CheckoutRow,
  { payer, method }: Completion,
): Promise<TwinRow | undefined> {
  if (method.by === 'card') return undefined
  const owner = ownerOf(checkout, payer)
  return method.hostname === undefined ? primaryTwin(tx, owner) : ownTwin(tx, owner, method.hostname)
}

/** Finishes an attempt. An error leaves the checkout as it was. */
async function proceed(order: Completion, begun: BegunAttempt, service: ServiceContext): Promise<ShownCheckout> {
  const { attempt } = begun
  try {
    return await deliverPurchase(
      order,
      begun.kind === 'fulfil' ? begun : await payByCard(order, begun, service),
      service,
    )
  } catch (error) {
    await service.storage.write(async (tx) => {
      const checkout = await checkoutOfAttempt(tx, attempt)
      // A purchase that could not be settled is reversed by a timer, and the attempt ends after it.
      if (checkout?.receipt_id === null) await endAttempt(tx, checkout, service)
    })
    throw error
  }
}

/** Charges the card and begins the purchase. */
async function payByCard(
  order: Completion,
  { attempt, message }: Extract<BegunAttempt, { kind: 'charge' }>,
  service: ServiceContext,
): Promise<Purchasing> {
  const { storage } = service
  const result = await chargeNow(message, service)
  const charge = await storage.read((tx) => tx.get(checkoutCharges, message.purpose_id))
  if (charge?.status === 'failed')
    throw result?.status === 'declined'
      ? cardDeclined(result.reason)
      : problem('processor_failed', { detail: 'Nothing was charged. Try again later.', fields: { outcome: 'failed' } })
  if (charge?.status !== 'charged')
    throw problem('processor_failed', {
      detail: OUTCOME_UNKNOWN,
      fields: { outcome: 'unknown' },
    })
  const own = { attempt, chargeId: message.purpose_id }
  const claimed = await storage.write((tx) => claim(tx, order, own, service))
  if (claimed.kind === 'fulfil') return claimed
  throw claimed.kind === 'refused' ? claimed.refused : checkoutPaying(SOMEBODY_PAYS)
}

/** Delivers the purchase. The transaction that settles it marks the checkout as paid. */
async function deliverPurchase(
  order: Completion,
  { attempt, held, chargeId }: Purchasing,
  service: ServiceContext,
): Promise<ShownCheckout> {
  const { payer, method } = order
  const { receipt, failure } = await deliver(service, held, async (tx, { status }) => {
    const checkout = await checkoutOfAttempt(tx, attempt)
    // Without its checkout the purchase must not be paid. Throwing undoes the posting, and a timer reverses the hold.
    if (!checkout && status === 'paid') throw new Error(`purchase ${held.id} outlived the try that began it`)
    if (!checkout) return
    const purchase = { payer, receiptId: held.id, chargeId }
    await (status === 'paid' ? endPaidAttempt(tx, checkout, purchase, service) : endAttempt(tx, checkout, service))
  })
  if (receipt.status !== 'paid') throw problem('upstream_failed', { detail: `${failure} ${reversedText(method)}` })
  const checkout = await service.storage.read((tx) => checkoutByToken(tx, order.token))
  // The payer may have signed in meanwhile and so have a new name.
  const paidOrder = { ...order, payer: checkout.payer ?? payer }
  return service.storage.read((tx) => showToPayer(tx, checkout, paidOrder, service))
}

const reversedText = ({ by }: PaymentMethod): string =>
  by === 'wallet'
    ? 'Nothing was charged. Try again.'
    : 'Try again: your card is not charged a second time. If you do not, the amount is refunded.'
