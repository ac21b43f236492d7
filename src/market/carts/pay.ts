import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { checkHops } from '../../base/via.js'
import { permittedTwin } from '../../consent/approvals/permit.js'
import { actorOf, type Party, spendAuthority } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toAmount } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { payingTwin, type TwinRow } from '../../money/twins/twin.js'
import { heldCalls } from '../../payments/payments/held-payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { buyerOf } from '../purchases/buy.js'
import { fulfil } from '../purchases/fulfilment.js'
import { type Admission, beginPurchase, type HeldPurchase } from '../purchases/purchase.js'
import { cartTerms } from './approval.js'
import { type CartPlace, cartLines, carts, ownCart } from './cart.js'
import { ofLine, type QuotedLine, quoteLines, type Sums, sumsOf } from './quote.js'
import { type ShownCart, showCart } from './show.js'

/** Who pays for a cart: a principal is one. A guest has to sign in first. */
export type CartPayer = Exclude<Party, { kind: 'embed' }> | { readonly kind: 'guest'; readonly user_id: number | null }

export interface CartOrder {
  readonly place: CartPlace
  readonly caller: CartPayer
  /** One of the payer's twins; the primary one where absent. */
  readonly hostname: string | undefined
  /** Of what an agent's user approved. */
  readonly approvalId: string | undefined
  /** The delegate by whose spending authority the caller pays. */
  readonly delegate: string | undefined
  /** Pays what things cost now, whatever was quoted; but never for other lines than those in `seen`. */
  readonly acceptPrices: boolean
  /** The lines that the payer saw, each with its price. Default: the lines as they were quoted when they were added. */
  readonly seen?: readonly SeenLine[] | undefined
  /** Of the request, as `hopsIn` counts them. */
  readonly hops: number
  /** Called before anything is held: what it throws refuses the cart, and what it writes stands with its purchases. */
  readonly admit?: Admission | undefined
  /** Keeps the answer under the caller's key. */
  keep(tx: Writer, cart: ShownCart): Promise<unknown>
}

/** A line of a cart with its price, as its payer saw it. */
export interface SeenLine {
  readonly line: number
  readonly quantity: number
  /** Of one, in the digital quantity. */
  readonly price: number | string
  readonly dq: string
}

/** How many endpoints are called at the same time. */
const AT_ONCE = 4

/**
 * Pays for all of a cart or nothing, in one transaction; then each of its purchases is fulfilled, and posted or reversed, on its own.
 * A cart that was paid before is given as it ended.
 * Throws `too_many_hops`, `sign_in_required`, `not_found`, `cart_paying`, `cart_empty`, `price_changed`, `approval_required`, `delegate_required`,
 * and what `quoteItem`, `beginPurchase`, `ownTwin`, `permittedTwin` and `spendAuthority` throw.
 */
export async function payCart(order: CartOrder, service: ServiceContext): Promise<ShownCart> {
  checkHops(order.hops)
  const { storage } = service
  const purchases = await storage.write((tx) => beginCart(tx, order, service))
  await fulfilAll(purchases, service)
  return storage.write(async (tx) => {
    const shown = await showCart(tx, await ownCart(tx, order.place), service)
    await order.keep(tx, shown)
    return shown
  })
}

/** Holds the price of every purchase of a cart that is open; a cart that was paid has none that are to be fulfilled. */
async function beginCart(tx: Writer, order: CartOrder, service: ServiceContext): Promise<HeldPurchase[]> {
  const cart = await ownCart(tx, order.place)
  const party = partyOf(order.caller)
  if (cart.ordered_at !== null) {
    if ((await showCart(tx, cart, service)).status === 'paying') throw problem('cart_paying')
    return []
  }
  const lines = await quoteLines(tx, cart, order.place)
  if (order.seen) checkSeenLines(lines, order.seen)
  else if (!order.acceptPrices && !isApproved(order)) await checkPrices(tx, lines)
  await order.admit?.(
    tx,
    lines.map(({ quote }) => quote),
  )
  const at = service.clock.now()
  const payer = await fundedTwin(tx, { ...order, party, lines }, { sums: sumsOf(lines), at })
  const terms = {
    payer,
    buyer: buyerOf(party),
    actor: actorOf(party),
    delegate: order.delegate ?? null,
    hops: order.hops,
    at,
  }
  const begun: HeldPurchase[] = []
  for (const { row, quote } of lines) {
    const receipts: number[] = []
    for (let unit = 0; unit < row.quantity; unit++) {
      const purchase = await ofLine(row, beginPurchase(tx, { ...terms, quote, args: row.arguments }, service))
      begun.push(purchase)
      receipts.push(purchase.id)
    }
    tx.put(cartLines, { ...row, price: String(quote.amount), dq: quote.quantity.id, receipts })
  }
  tx.put(carts, { ...cart, ordered_at: at })
  return begun
}

/** An approval is of a cart at its prices, and is spent by the payment: whoever gave it has seen what the cart costs now. */
const isApproved = ({ caller, delegate, approvalId }: CartOrder): boolean =>
  caller.kind === 'agent' && delegate === undefined && approvalId !== undefined

function partyOf(caller: CartPayer): Party {
  if (caller.kind !== 'guest') return caller
  const { user_id: id } = caller
  if (id === null) throw problem('sign_in_required')
  return { kind: 'user', id, owner: `user:${id}` }
}

async function checkPrices(tx: Reader, lines: readonly QuotedLine[]): Promise<void> {
  const changed = []
  for (const { row, quote } of lines) {
    const { line, catalog_item_id, name, price, dq } = row
    if (String(quote.amount) === price && quote.quantity.id === dq) continue
    const { decimals } = await quantityOf(tx, dq)
    const now = { new_price: toAmount(quote.amount, quote.quantity.decimals), new_dq: quote.quantity.id }
    changed.push({ line, catalog_item_id, name, price: toAmount(price, decimals), dq, ...now })
  }
  if (changed.length === 0) return
  const detail = `Lines ${changed.map(({ line }) => line).join(', ')} cost something else than was quoted; send accept_prices to pay that.`
  throw problem('price_changed', { detail, fields: { lines: changed } })
}

/** Throws `price_changed` with the present lines if the payer saw others. */
function checkSeenLines(lines: readonly QuotedLine[], seen: readonly SeenLine[]): void {
  const present = lines.map(({ row: { line, quantity }, quote }) => ({
    ...{ line, quantity, price: quote.price, dq: quote.quantity.id },
  }))
  const textOf = ({ line, quantity, price, dq }: SeenLine) => JSON.stringify([line, quantity, Number(price), dq])
  const isSame = present.map(textOf).sort().join() === seen.map(textOf).sort().join()
  if (!isSame) throw problem('price_changed', { fields: { lines: present } })
}

interface Payment extends Pick<CartOrder, 'place' | 'hostname' | 'delegate' | 'approvalId'> {
  readonly party: Party
  readonly lines: readonly QuotedLine[]
}

/** The twin that pays: it holds the sums, and its value may be spent so. */
async function fundedTwin(tx: Writer, payment: Payment, { sums, at }: { sums: Sums; at: number }): Promise<TwinRow> {
  const twin = await payerOf(tx, payment, { sums, at })
  for (const [dq, sum] of sums)
    if (spendable(await balanceOf(tx, twin.id, dq)) < sum) {
      const { decimals, shortcode } = await quantityOf(tx, dq)
      throw problem('insufficient_funds', { detail: `It takes ${formatAmount(sum, decimals)} ${shortcode}.` })
    }
  return twin
}

/** Throws `delegate_required` and what `delegatedTwin`, `payingTwin` and `permittedTwin` throw. */
async function payerOf(
  tx: Writer,
  { place, hostname, delegate, approvalId, party, lines }: Payment,
  { sums, at }: { sums: Sums; at: number },
): Promise<TwinRow> {
  if (delegate !== undefined) return delegatedTwin(tx, { delegate, party }, { sums, at })
  if (party.kind === 'account' || party.kind === 'embed') throw problem('delegate_required')
  if (party.kind === 'user') return payingTwin(tx, party.owner, hostname)
  const wish = { kind: 'cart', cart_id: place.id }
  return permittedTwin(tx, party, { terms: cartTerms(place.id, lines), wish, sums, hostname, approvalId, at })
}

/** An authority is for one digital quantity, so it pays for no cart of several. */
async function delegatedTwin(
  tx: Writer,
  { delegate, party }: { delegate: string; party: Party },
  { sums, at }: { sums: Sums; at: number },
): Promise<TwinRow> {
  const twins: TwinRow[] = []
  for (const [dq, amount] of sums) twins.push(await spendAuthority(tx, { delegate, party, dq, amount, at }))
  return required(twins[0], 'the twin that pays the cart')
}

/** Fulfils what is held, some at the same time. Throws what the storage threw at one of them, once all have ended. */
async function fulfilAll(purchases: readonly HeldPurchase[], service: ServiceContext): Promise<void> {
  const failures: unknown[] = []
  const waiting = purchases.values()
  const work = async () => {
    for (const purchase of waiting)
      try {
        await fulfilHeld(purchase, service)
      } catch (failure) {
        failures.push(failure)
      } finally {
        service.ongoing.delete(purchase.token)
      }
  }
  const all = Promise.resolve().then(() => Promise.all(Array.from({ length: AT_ONCE }, work)))
  // Those that wait for their turn are not taken for abandoned here.
  for (const { token } of purchases) service.ongoing.set(token, all)
  await all
  if (failures.length > 0) throw failures[0]
}

/** Another process over this storage may have taken back what waited long: that is not called. */
async function fulfilHeld(purchase: HeldPurchase, service: ServiceContext): Promise<void> {
  const { id, token } = purchase
  const isHeld = await service.storage.read(async (tx) => (await tx.get(heldCalls, id))?.token === token)
  if (isHeld) await fulfil(service, purchase)
}
