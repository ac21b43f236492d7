import { cardDeclined, chargeNow } from '../cards/charge-now.js'
import { openParameters } from '../catalog/parameter.js'
import type { ServiceContext } from '../context.js'
import { quantityOf } from '../digital-quantities/digital-quantity.js'
import { events } from '../events/event.js'
import { formatAmount } from '../ledger/amount.js'
import type { CardRow } from '../outbox/message.js'
import type { SeenPrice } from '../payments/seen-price.js'
import { Problem, problem } from '../problem.js'
import { dispatch } from '../purchases/dispatch.js'
import { deliver } from '../purchases/fulfilment.js'
import { beginPurchase, checkPrice, type HeldPurchase, type Quote, quoteItem } from '../purchases/purchase.js'
import { showReceipt } from '../purchases/receipt.js'
import { randomHex } from '../secrets.js'
import type { Reader, Writer } from '../storage/storage.js'
import { ownTwin, primaryTwin, type TwinRow, twins } from '../twins/twin.js'
import { checkHops } from '../via.js'
import { beginTry, endPaid, endTry } from './attempt.js'
import { beginCharge } from './card.js'
import { chargedFor, checkoutCharges } from './charge.js'
import {
  type CheckoutRow,
  checkoutByToken,
  checkoutOfTry,
  checkouts,
  ownerOf,
  type Payer,
  type ShownCheckout,
  showCheckout,
  statusOf,
} from './checkout.js'
import { refundCharges } from './refund.js'

/** How a checkout is paid: from a wallet of the user who pays, their first where none is named, or by card. */
export type Way =
  | { readonly by: 'wallet'; readonly hostname: string | undefined }
  | { readonly by: 'card'; readonly paymentMethodId: string }

export interface Completion {
  /** Of the link. */
  readonly token: string
  readonly payer: Payer
  readonly way: Way
  readonly seen?: SeenPrice | undefined
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
  for (;;) {
    const isWaiting = await service.storage.read((tx) => isTried(tx, order.token))
    const claimed = isWaiting ? WAIT : await service.storage.write((tx) => claim(tx, order, undefined, service))
    if (claimed.kind === 'paid') return claimed.checkout
    if (claimed.kind === 'refused') throw claimed.refused
    if (claimed.kind !== 'wait') return underway(claimed.attempt, proceed(order, claimed, service), service)
    if (!(await service.background.nextWrite([events.name], LOOK_MS))) throw problem('checkout_paying')
  }
}

const isUser = (payer: Payer): boolean => payer.startsWith('user:')

const isTried = async (tx: Reader, token: string): Promise<boolean> =>
  (await checkoutByToken(tx, token)).attempt !== null

/** A service that closes waits for it; and no timer takes it for dead. */
function underway<T>(attempt: string, trying: Promise<T>, { ongoing }: ServiceContext): Promise<T> {
  const tried = trying.finally(() => ongoing.delete(attempt))
  ongoing.set(attempt, tried)
  return tried
}

/** A try that has begun: a card to be charged, or a purchase to be delivered. */
type Begun =
  | { readonly kind: 'charge'; readonly attempt: string; readonly message: CardRow }
  | { readonly kind: 'fulfil'; readonly attempt: string; readonly held: HeldPurchase }

type Claimed =
  | Begun
  | { readonly kind: 'paid'; readonly checkout: ShownCheckout }
  | { readonly kind: 'wait' }
  | { readonly kind: 'refused'; readonly refused: Problem }

const WAIT = { kind: 'wait' } as const

/** Takes the checkout for a try; `own` names one that has charged a card and goes on. */
async function claim(
  tx: Writer,
  order: Completion,
  own: string | undefined,
  service: ServiceContext,
): Promise<Claimed> {
  const checkout = await checkoutByToken(tx, order.token)
  const status = statusOf(checkout, service.clock.now())
  if (status === 'expired') throw problem('checkout_expired')
  if (status === 'paid') return { kind: 'paid', checkout: await paidBy(tx, checkout, order, service) }
  if (status === 'paying' && checkout.attempt === null) throw problem('checkout_paying', { detail: UNKNOWN })
  if (status === 'paying' && checkout.attempt !== own) return WAIT
  const quote = await quoteOf(tx, checkout)
  // Nobody will ever pay by this link: cards that were charged for it get that back.
  if (quote instanceof Problem) return refuse(tx, checkout, quote, service)
  checkPrice(quote, order.seen ?? {})
  const attempt = own ?? randomHex(service.random, 16)
  try {
    return await begin(tx, { order, checkout, quote, attempt }, service)
  } catch (error) {
    // Nobody is left charged for what turned out not to be had: before that, it is as if nothing had been written.
    if (own === undefined || !(error instanceof Problem)) throw error
    return refuse(tx, checkout, error, service)
  }
}

const UNKNOWN = 'Whether a card was charged is not known yet; nobody is charged twice for it.'

async function paidBy(
  tx: Reader,
  checkout: CheckoutRow,
  { token, payer }: Pick<Completion, 'token' | 'payer'>,
  { clock, baseUrl, keys }: ServiceContext,
): Promise<ShownCheckout> {
  if (checkout.payer !== payer) throw problem('checkout_paid')
  const receipt = await showReceipt(tx, checkout.receipt_id as number, { keys, for: 'buyer' })
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
  const twin = await payingTwin(tx, checkout, order)
  const trying = checkout.attempt === attempt ? checkout : await beginTry(tx, checkout, attempt, service)
  if (!twin && way.by === 'card') {
    const { quantity, amount, commodity } = quote
    const { paymentMethodId } = way
    // No card is charged for what is known not to be delivered.
    dispatch(quote.item, checkout.arguments, await openParameters(tx, quote.item.id, service))
    const charge = { payer, quantity, amount, paymentMethodId, description: commodity.descriptor }
    return { kind: 'charge', attempt, message: await beginCharge(tx, trying, charge, service) }
  }
  if (!twin) throw problem('insufficient_funds', { detail: 'There is no twin to pay from.' })
  const buyer = ownerOf(checkout, payer)
  const terms = { quote, args: checkout.arguments, payer: twin, buyer, actor: buyer, delegate: null, hops: order.hops }
  const held = await beginPurchase(tx, { ...terms, at: service.clock.now() }, service)
  tx.put(checkouts, { ...trying, receipt_id: held.id })
  return { kind: 'fulfil', attempt, held }
}

/** What pays: a wallet of the payer's, or the checkout's own twin where that holds what their card was charged. */
async function payingTwin(tx: Reader, checkout: CheckoutRow, { payer, way }: Completion): Promise<TwinRow | undefined> {
  if (way.by === 'card')
    return (await chargedFor(tx, checkout, payer)) ? tx.get(twins, checkout.twin_id as number) : undefined
  const owner = ownerOf(checkout, payer)
  return way.hostname === undefined ? primaryTwin(tx, owner) : ownTwin(tx, owner, way.hostname)
}

/** Goes through with a try. What breaks it off leaves the checkout as it was. */
async function proceed(order: Completion, begun: Begun, service: ServiceContext): Promise<ShownCheckout> {
  const { attempt } = begun
  try {
    const held = begun.kind === 'fulfil' ? begun.held : await payByCard(order, begun, service)
    return await buy(order, { attempt, held }, service)
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
): Promise<HeldPurchase> {
  const { storage } = service
  const result = await chargeNow(message, service)
  const charge = await storage.read((tx) => tx.get(checkoutCharges, message.purpose_id))
  if (charge?.status === 'failed')
    throw result?.status === 'declined'
      ? cardDeclined(result.reason)
      : problem('processor_failed', { detail: 'Nothing was charged: try again later.', fields: { outcome: 'failed' } })
  if (charge?.status !== 'charged')
    throw problem('processor_failed', {
      detail: `${UNKNOWN} Come back to this link later.`,
      fields: { outcome: 'unknown' },
    })
  const claimed = await storage.write((tx) => claim(tx, order, attempt, service))
  if (claimed.kind === 'fulfil') return claimed.held
  throw claimed.kind === 'refused' ? claimed.refused : problem('checkout_paying')
}

/** Has what is bought delivered: the checkout is paid in the transaction that settles that. */
async function buy(
  order: Completion,
  { attempt, held }: { attempt: string; held: HeldPurchase },
  service: ServiceContext,
): Promise<ShownCheckout> {
  const { payer, way } = order
  const { receipt, failure } = await deliver(service, held, async (tx, { status }) => {
    const checkout = await checkoutOfTry(tx, attempt)
    // Nothing is paid beside its checkout: that undoes the posting, and what is held is reversed in time.
    if (!checkout && status === 'paid') throw new Error(`purchase ${held.id} outlived the try that began it`)
    if (!checkout) return
    const purchase = { payer, receiptId: held.id, byCard: way.by === 'card' }
    await (status === 'paid' ? endPaid(tx, checkout, purchase, service) : endTry(tx, checkout, service))
  })
  if (receipt.status !== 'paid') throw problem('upstream_failed', { detail: `${failure} ${reversedText(way)}` })
  const checkout = await service.storage.read((tx) => checkoutByToken(tx, order.token))
  return service.storage.read((tx) => paidBy(tx, checkout, order, service))
}

const reversedText = ({ by }: Way): string =>
  by === 'wallet'
    ? 'Nothing was charged: try again.'
    : 'What your card was charged waits here: try again, and it is not charged again; else it goes back to the card.'
