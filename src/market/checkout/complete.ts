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
import { beginTry, endDeadTry, endPaid, endTry } from './attempt.js'
import { beginCharge } from './card.js'
import { chargedFor, checkoutCharges } from './charge.js'
import {
  type CheckoutRow,
  checkoutByToken,
  checkoutOfTry,
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
import { tryWatch, underway } from './watch.js'

/** How a checkout is paid: from a wallet of the user who pays, their first where none is named, or by card. */
export type Way =
  | { readonly by: 'wallet'; readonly hostname: string | undefined }
  | { readonly by: 'card'; readonly paymentMethodId: string }

export interface Completion {
  /** Of the link. */
  readonly token: string
  readonly payer: Payer
  readonly way: Way
  readonly seen?: PriceQuote | undefined
  /** Of the request, as `hopsIn` counts them. */
  readonly hops: number
}

/** How often a try that another process makes is looked for. */
const LOOK_MS = 1000

/**
 * Pays a checkout and has what is bought delivered: once, whoever asks and however often. While one tries, others wait; the payer is
 * given the same receipt each time. Throws `too_many_hops`, `not_found`, `sign_in_required`, `checkout_paid` for anybody else, `checkout_paying` while a card may have
 * been charged, `checkout_expired`, `price_changed`, `card_minimum`, `too_many_declines`, `card_declined`, `processor_failed`, `upstream_failed`, and what
 * `quoteItem`, `ownTwin` and `beginPurchase` throw: the checkout is unpaid then as before.
 */
export async function completeCheckout(order: Completion, service: ServiceContext): Promise<ShownCheckout> {
  checkHops(order.hops)
  // A guest has no wallet; what is theirs in the checkout's is spent by card.
  if (order.way.by === 'wallet' && !isUser(order.payer)) throw problem('sign_in_required')
  const watch = tryWatch(service)
  try {
    for (;;) {
      const checkout = await service.storage.read((tx) => checkoutByToken(tx, order.token))
      const sign = watch.look(checkout)
      if (sign === 'stuck') throw paying(SLOW)
      if (sign === 'dead') await service.storage.write((tx) => endDeadTry(tx, checkout, service))
      const isFree = checkout.attempt === null || sign === 'dead'
      const paid = isFree ? await tryOnce(order, service) : undefined
      if (paid) return paid
      if (!(await service.background.nextWrite([events.name], LOOK_MS))) throw paying(SLOW)
    }
  } finally {
    watch.stop()
  }
}

/** Takes the checkout and goes through with that; undefined where another try was faster. */
function tryOnce(order: Completion, service: ServiceContext): Promise<ShownCheckout | undefined> {
  const attempt = randomHex(service.random, 16)
  const trying = async () => {
    const claimed = await service.storage.write((tx) => claim(tx, order, { attempt }, service))
    if (claimed.kind === 'paid') return claimed.checkout
    if (claimed.kind === 'refused') throw claimed.refused
    return claimed.kind === 'wait' ? undefined : proceed(order, claimed, service)
  }
  return underway(attempt, trying(), service)
}

const SLOW = 'Somebody is paying at this moment. Send the same request again in 5 seconds.'
const UNKNOWN =
  'It is not known yet whether a card was charged. The service asks the card processor again by itself, and nobody is charged twice. Send the same request again later.'

const paying = (detail: string): Problem => problem('checkout_paying', { detail, headers: { 'retry-after': '5' } })

/** A try that has begun: a card to be charged, or a purchase to be delivered. */
type Begun =
  | { readonly kind: 'charge'; readonly attempt: string; readonly message: CardRow }
  | (Purchasing & { readonly kind: 'fulfil' })

/** `chargeId`: of the charge that pays for it, where a card does. */
interface Purchasing {
  readonly attempt: string
  readonly held: HeldPurchase
  readonly chargeId: number | undefined
}

type Claimed =
  | Begun
  | { readonly kind: 'paid'; readonly checkout: ShownCheckout }
  | { readonly kind: 'wait' }
  | { readonly kind: 'refused'; readonly refused: Problem }

const WAIT = { kind: 'wait' } as const

/** A try; with the charge that it has made, where it goes on after one. */
interface Trying {
  readonly attempt: string
  readonly chargeId?: number
}

/** Takes the checkout for a try, or goes on with one that has charged a card. */
async function claim(
  tx: Writer,
  order: Completion,
  { attempt, chargeId }: Trying,
  service: ServiceContext,
): Promise<Claimed> {
  const checkout = await checkoutByToken(tx, order.token)
  const status = checkoutStatus(checkout, service.clock.now())
  if (status === 'expired') throw problem('checkout_expired')
  if (status === 'paid') return { kind: 'paid', checkout: await paidBy(tx, checkout, order, service) }
  if (status === 'paying' && checkout.attempt === null) throw paying(UNKNOWN)
  if (status === 'paying' && checkout.attempt !== attempt) return WAIT
  const quote = await quoteOf(tx, checkout)
  // Nobody will ever pay by this link: cards that were charged for it get that back.
  if (quote instanceof Problem) return refuse(tx, checkout, quote, service)
  checkPrice(quote, order.seen ?? {})
  // Whose card was charged may have signed in meanwhile.
  const charge = chargeId === undefined ? undefined : await tx.get(checkoutCharges, chargeId)
  const payer = charge?.payer ?? order.payer
  try {
    return await begin(tx, { order: { ...order, payer }, checkout, quote, attempt }, service)
  } catch (error) {
    // Nobody is left charged for what turned out not to be had: before that, it is as if nothing had been written.
    if (chargeId === undefined || !(error instanceof Problem)) throw error
    return refuse(tx, checkout, error, service)
  }
}

async function paidBy(
  tx: Reader,
  checkout: CheckoutRow,
  { token, payer }: Pick<Completion, 'token' | 'payer'>,
  { clock, baseUrl, keys }: ServiceContext,
): Promise<ShownCheckout> {
  if (checkout.payer !== payer) throw problem('checkout_paid')
  const receipt = await showReceipt(tx, receiptIdOf(checkout), { keys, for: 'buyer' })
  return showCheckout(tx, checkout, { token, baseUrl, at: clock.now(), receipt })
}

/** What the link is for, or why it can no longer be had so. */
export async function quoteOf(tx: Reader, checkout: CheckoutRow): Promise<Quote | Problem> {
  const { catalog_item_id: itemId, arguments: args, within, dq, price } = checkout
  try {
    const quote = await quoteItem(tx, { itemId, args, within: within ?? undefined })
    if (quote.quantity.id === dq && String(quote.amount) === price) return quote
    const { decimals, shortcode } = quote.quantity
    const now = `${formatAmount(quote.amount, decimals)} ${shortcode}`
    const fields = { catalog_item_id: itemId, price: quote.price, dq: quote.quantity.id }
    const { decimals: places, shortcode: unit } = await quantityOf(tx, dq)
    const detail = `It costs ${now} now, and this link is for ${formatAmount(price, places)} ${unit}: ask for a new one.`
    return problem('price_changed', { detail, fields })
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

async function refuse(
  tx: Writer,
  checkout: CheckoutRow,
  refused: Problem,
  service: ServiceContext,
): Promise<Extract<Claimed, { kind: 'refused' }>> {
  await endTry(tx, checkout, service)
  await refundCharges(tx, checkout, service)
  return { kind: 'refused', refused }
}

interface Begin {
  readonly order: Completion
  readonly checkout: CheckoutRow
  readonly quote: Quote
  readonly attempt: string
}

async function begin(tx: Writer, { order, checkout, quote, attempt }: Begin, service: ServiceContext): Promise<Begun> {
  const { payer, way } = order
  const charged = way.by === 'card' ? await chargedFor(tx, checkout, payer) : undefined
  const twin = charged ? await tx.get(twins, twinIdOf(checkout)) : await payersTwin(tx, checkout, order)
  const trying = checkout.attempt === attempt ? checkout : await beginTry(tx, checkout, attempt, service)
  if (!twin && way.by === 'card') {
    const { quantity, amount, commodity } = quote
    const { paymentMethodId } = way
    // No card is charged for what is known not to be delivered.
    endpointRequest(quote.item, checkout.arguments, await decryptParameters(tx, quote.item.id, service))
    const charge = { payer, quantity, amount, paymentMethodId, description: commodity.descriptor }
    return { kind: 'charge', attempt, message: await beginCharge(tx, trying, charge, service) }
  }
  if (!twin) throw problem('insufficient_funds', { detail: 'There is no twin to pay from.' })
  const buyer = ownerOf(checkout, payer)
  const terms = { quote, args: checkout.arguments, payer: twin, buyer, actor: buyer, delegate: null, hops: order.hops }
  const held = await beginPurchase(tx, { ...terms, at: service.clock.now() }, service)
  tx.put(checkouts, { ...trying, receipt_id: held.id })
  return { kind: 'fulfil', attempt, held, chargeId: charged?.id }
}

/** The wallet that pays, where a wallet does. */
async function payersTwin(tx: Reader, checkout: CheckoutRow, { payer, way }: Completion): Promise<TwinRow | undefined> {
  if (way.by === 'card') return undefined
  const owner = ownerOf(checkout, payer)
  return way.hostname === undefined ? primaryTwin(tx, owner) : ownTwin(tx, owner, way.hostname)
}

/** Goes through with a try. What breaks it off leaves the checkout as it was. */
async function proceed(order: Completion, begun: Begun, service: ServiceContext): Promise<ShownCheckout> {
  const { attempt } = begun
  try {
    return await buy(order, begun.kind === 'fulfil' ? begun : await payByCard(order, begun, service), service)
  } catch (error) {
    await service.storage.write(async (tx) => {
      const checkout = await checkoutOfTry(tx, attempt)
      // A purchase that was begun and could not be settled is reversed by itself, and the try ends after it.
      if (checkout?.receipt_id === null) await endTry(tx, checkout, service)
    })
    throw error
  }
}

/** Charges the card, and begins the purchase that is paid from it. */
async function payByCard(
  order: Completion,
  { attempt, message }: Extract<Begun, { kind: 'charge' }>,
  service: ServiceContext,
): Promise<Purchasing> {
  const { storage } = service
  const result = await chargeNow(message, service)
  const charge = await storage.read((tx) => tx.get(checkoutCharges, message.purpose_id))
  if (charge?.status === 'failed')
    throw result?.status === 'declined'
      ? cardDeclined(result.reason)
      : problem('processor_failed', { detail: 'Nothing was charged: try again later.', fields: { outcome: 'failed' } })
  if (charge?.status !== 'charged')
    throw problem('processor_failed', {
      detail: UNKNOWN,
      fields: { outcome: 'unknown' },
    })
  const own = { attempt, chargeId: message.purpose_id }
  const claimed = await storage.write((tx) => claim(tx, order, own, service))
  if (claimed.kind === 'fulfil') return claimed
  throw claimed.kind === 'refused' ? claimed.refused : paying(SLOW)
}

/** Has what is bought delivered: the checkout is paid in the transaction that settles that. */
async function buy(
  order: Completion,
  { attempt, held, chargeId }: Purchasing,
  service: ServiceContext,
): Promise<ShownCheckout> {
  const { payer, way } = order
  const { receipt, failure } = await deliver(service, held, async (tx, { status }) => {
    const checkout = await checkoutOfTry(tx, attempt)
    // Nothing is paid beside its checkout: that undoes the posting, and what is held is reversed in time.
    if (!checkout && status === 'paid') throw new Error(`purchase ${held.id} outlived the try that began it`)
    if (!checkout) return
    const purchase = { payer, receiptId: held.id, chargeId }
    await (status === 'paid' ? endPaid(tx, checkout, purchase, service) : endTry(tx, checkout, service))
  })
  if (receipt.status !== 'paid') throw problem('upstream_failed', { detail: `${failure} ${reversedText(way)}` })
  const checkout = await service.storage.read((tx) => checkoutByToken(tx, order.token))
  // By now the payer may be known by another name: whoever signed in meanwhile.
  const paidOrder = { ...order, payer: checkout.payer ?? payer }
  return service.storage.read((tx) => paidBy(tx, checkout, paidOrder, service))
}

const reversedText = ({ by }: Way): string =>
  by === 'wallet'
    ? 'Nothing was charged: try again.'
    : 'What your card was charged waits here: try again, and it is not charged again; else it goes back to the card.'
