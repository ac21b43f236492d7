import { Problem, problem, problemSentence } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { seconds } from '../../base/time.js'
import { checkHops } from '../../base/via.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import { actorOf, ownerOfParty, type Party } from '../../consent/personas/spending.js'
import { type ServiceContext, type StoreAnswer, storeNothing } from '../../http/context.js'
import type { QuotedLines, z } from '../../http/fields/schema.js'
import { checkStored } from '../../identity/users/user.js'
import { type FlowRun, runFlow } from '../../jobs/flows/flow.js'
import { quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toAmount } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/movement.js'
import type { TwinRow } from '../../money/twins/twin.js'
import { isPaymentHeld, reversePayment } from '../../payments/payments/held-payment.js'
import { bearerOf, type PayingCaller, type Sums, spendPayer } from '../../payments/payments/payer.js'
import { getOrNotFound } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Arguments } from '../catalog/schema.js'
import { callInFlow, settlePurchase } from '../purchases/fulfilment.js'
import {
  type Admission,
  beginPurchase,
  callOf,
  type HeldPurchase,
  type Quote,
  quoteItem,
  spendCalls,
} from '../purchases/purchase.js'
import { type PurchaseStatus, readReceipts, type ShownReceipt, showReceipt } from '../purchases/receipt.js'
import {
  type CartLineRow,
  type CartPlace,
  type CartRow,
  cartExpiry,
  cartLines,
  carts,
  linesOf,
  MAX_LINES,
  openCart,
  ownCart,
  paidCartExpiry,
} from './cart.js'

/** Adds an item to a cart. Throws `not_found`, also for an unknown item, `cart_closed`, `cart_full`, and what `quoteItem` throws. */
export async function addCartItem(
  tx: Writer,
  place: CartPlace,
  { itemId, args, quantity }: { itemId: number; args: Arguments; quantity: number },
): Promise<CartRow> {
  const cart = await openCart(tx, place)
  if ((await linesOf(tx, cart)).length >= MAX_LINES) throw problem('cart_full')
  const quote = await quoteItem(tx, { itemId, args, within: place.within })
  const line = cart.lines_made + 1
  const changed = touched(tx, { ...cart, lines_made: line }, place)
  tx.put(cartLines, {
    ...{ id: `${cart.id}:${line}`, cart_id: cart.id, line, catalog_item_id: itemId },
    ...{ name: quote.item.name, seller: quote.seller, price: String(quote.amount), dq: quote.quantity.id },
    ...{ quantity, arguments: args, receipts: [] },
  })
  return changed
}

/** A change keeps an open cart alive. */
function touched(tx: Writer, cart: CartRow, { at }: CartPlace): CartRow {
  const kept: CartRow = { ...cart, expires_at: cartExpiry(cart.holder, at) }
  tx.put(carts, kept)
  return kept
}

export async function updateCartItem(
  tx: Writer,
  place: CartPlace,
  line: number,
  { args, quantity }: { args: Arguments | undefined; quantity: number | undefined },
): Promise<CartRow> {
  const { cart, row } = await openLine(tx, place, line)
  if (args !== undefined) await quoteItem(tx, { itemId: row.catalog_item_id, args, within: place.within })
  tx.put(cartLines, { ...row, arguments: args ?? row.arguments, quantity: quantity ?? row.quantity })
  return touched(tx, cart, place)
}

export async function deleteCartItem(tx: Writer, place: CartPlace, line: number): Promise<CartRow> {
  const { cart, row } = await openLine(tx, place, line)
  tx.remove(cartLines, row.id)
  return touched(tx, cart, place)
}

async function openLine(tx: Reader, place: CartPlace, line: number) {
  const cart = await openCart(tx, place)
  return { cart, row: await getOrNotFound(tx, cartLines, `${cart.id}:${line}`) }
}

export async function deleteCart(tx: Writer, place: CartPlace): Promise<void> {
  const cart = await openCart(tx, place)
  for (const { id } of await linesOf(tx, cart)) tx.remove(cartLines, id)
  tx.remove(carts, cart.id)
}

export interface QuotedLine {
  readonly row: CartLineRow
  readonly quote: Quote
}

/** Quotes all lines. Throws `cart_empty`, and what `quoteItem` throws with the line added. */
export async function quoteLines(tx: Reader, cart: CartRow, { within }: CartPlace): Promise<QuotedLine[]> {
  const lines = []
  for (const row of await linesOf(tx, cart)) {
    const { catalog_item_id: itemId, arguments: args } = row
    lines.push({ row, quote: await withLine(row, quoteItem(tx, { itemId, args, within })) })
  }
  if (lines.length === 0) throw problem('cart_empty')
  return lines
}

export async function withLine<T>({ line, name }: CartLineRow, step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const { code, fields, message } = cause
    const why = message.slice(problemSentence(code).length).trim()
    const detail = `${why} It is line ${line}, "${name}".`.trim()
    throw problem(code, { detail, fields: { ...fields, line }, cause })
  }
}

export function sumsOf(lines: readonly QuotedLine[]): Sums {
  const sums = new Map<string, bigint>()
  for (const { row, quote } of lines) {
    const dq = quote.quantity.id
    sums.set(dq, (sums.get(dq) ?? 0n) + quote.amount * BigInt(row.quantity))
  }
  return sums
}

export function cartTerms(cartId: number, lines: readonly QuotedLine[]): ApprovalTerms {
  const shown = lines.map(({ row, quote }) => ({
    line: row.line,
    catalog_item_id: row.catalog_item_id,
    name: quote.item.name,
    seller: quote.seller,
    payee: quote.payee.hostname,
    quantity: row.quantity,
    ...priceDetail(quote.quantity, quote.amount),
    arguments: row.arguments,
  }))
  const total = totalText(lines)
  const purchases = lines.reduce((sum, { row }) => sum + row.quantity, 0)
  return {
    kind: 'cart',
    detail: { cart_id: cartId, total, lines: shown },
    summary: `Pay for a cart of ${purchases} ${purchases === 1 ? 'purchase' : 'purchases'}: ${total}`,
  }
}

function totalText(lines: readonly QuotedLine[]): string {
  const quantities = new Map(lines.map(({ quote: { quantity } }) => [quantity.id, quantity]))
  const totals = [...sumsOf(lines)].map(([dq, sum]) => priceDetail(required(quantities.get(dq), dq), sum).price)
  return totals.join(' + ')
}

type CartPayer = Exclude<Party, { kind: 'embed' }> | { readonly kind: 'guest'; readonly user_id: number | null }

interface CartOrder extends Omit<PayingCaller, 'party'> {
  readonly place: CartPlace
  readonly caller: CartPayer
  /** Pays current prices instead of quoted ones, but only for the lines in `seen`, if given. */
  readonly acceptPrices: boolean
  /** The lines that the payer saw, each with its price. Default: the lines as quoted. */
  readonly seen?: readonly SeenLine[] | undefined
  readonly hops: number
  /** Called before anything is held. Throwing refuses the cart; writes are part of the payment's transaction. */
  readonly admit?: Admission | undefined
}

type SeenLine = z.output<typeof QuotedLines>[number]
const CONCURRENT_CALLS = 4

/** Holds all purchases of a cart in one transaction, or none, and then fulfils each. A paid cart is returned as it is. */
export async function payCart(
  order: CartOrder,
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownCart> = storeNothing,
): Promise<ShownCart> {
  checkHops(order.hops)
  return runFlow('cart', service, async (run) => {
    const purchases = await run.transaction(
      'hold every price',
      (tx) => holdPrices(tx, order, run, service),
      async (tx, purchases) => {
        for (const purchase of purchases) await reversePayment(tx, purchase, service)
      },
    )
    await deliverAll(purchases, run, service)
    return run.answer(async (tx) => showCart(tx, await ownCart(tx, order.place), service), storeAnswer)
  })
}

async function holdPrices(tx: Writer, order: CartOrder, { token }: FlowRun, service: ServiceContext) {
  const cart = await ownCart(tx, order.place)
  const party = partyOf(order.caller)
  if (cart.ordered_at !== null) {
    if ((await showCart(tx, cart, service)).status === 'paying') throw problem('cart_paying')
    return []
  }
  const lines = await quoteLines(tx, cart, order.place)
  if (order.seen) checkSeenLines(lines, order.seen)
  else if (!order.acceptPrices && !isPaidByApproval(order)) await checkPrices(tx, lines)
  const quotes = lines.map(({ quote }) => quote)
  await order.admit?.(tx, quotes)
  const at = service.clock.now()
  const called = lines.map(({ row, quote }) => ({ ...callOf(quote), calls: row.quantity }))
  const payer = await fundedTwin(tx, { ...order, party }, lines, at)
  const bearer = bearerOf(party, payer)
  await spendCalls(tx, called, { bearer, at }, service)
  await checkStored(tx, { owner: bearer }, service)
  const by = { payer, buyer: ownerOfParty(party), bearer, actor: actorOf(party), delegate: order.delegate ?? null }
  const terms = { ...by, hops: order.hops, at, token }
  const purchases: HeldPurchase[] = []
  for (const { row, quote } of lines) {
    const receipts: number[] = []
    for (let unit = 0; unit < row.quantity; unit++) {
      const purchase = await withLine(row, beginPurchase(tx, { ...terms, quote, args: row.arguments }, service))
      purchases.push(purchase)
      receipts.push(purchase.id)
    }
    tx.put(cartLines, { ...row, price: String(quote.amount), dq: quote.quantity.id, receipts })
  }
  tx.put(carts, { ...cart, ordered_at: at, expires_at: paidCartExpiry(at) })
  return purchases
}

/** Whether an approval pays. It names the current prices, so the quoted ones need no check. */
const isPaidByApproval = ({ caller, delegate, approvalId }: CartOrder): boolean =>
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
  const detail = `Lines ${changed.map(({ line }) => line).join(', ')} have a new price. Send "accept_prices" to pay it.`
  throw problem('price_changed', { detail, fields: { lines: changed } })
}

function checkSeenLines(lines: readonly QuotedLine[], seen: readonly SeenLine[]): void {
  const present = lines.map(({ row: { line, quantity }, quote }) => ({
    line,
    quantity,
    price: quote.price,
    dq: quote.quantity.id,
  }))
  const textOf = ({ line, quantity, price, dq }: SeenLine) => JSON.stringify([line, quantity, Number(price), dq])
  const isSame = present.map(textOf).sort().join() === seen.map(textOf).sort().join()
  if (!isSame) throw problem('price_changed', { fields: { lines: present } })
}

async function fundedTwin(
  tx: Writer,
  payer: PayingCaller & Pick<CartOrder, 'place'>,
  lines: readonly QuotedLine[],
  at: number,
): Promise<TwinRow> {
  const { id } = payer.place
  const approval = () => ({ terms: cartTerms(id, lines), wish: { kind: 'cart', cart_id: id } })
  const { twin, cost } = await spendPayer(tx, payer, at, () => ({ sums: sumsOf(lines), approval }))
  for (const [dq, sum] of cost.sums)
    if (spendable(await balanceOf(tx, twin.id, dq)) < sum) {
      const detail = `The cart costs ${moneyText(sum, await quantityOf(tx, dq))}.`
      throw problem('insufficient_funds', { detail })
    }
  return twin
}

async function deliverAll(purchases: readonly HeldPurchase[], run: FlowRun, service: ServiceContext): Promise<void> {
  const failures: unknown[] = []
  const waiting = purchases.values()
  const work = async () => {
    for (const purchase of waiting)
      await deliver(purchase, run, service).catch((failure: unknown) => failures.push(failure))
  }
  await Promise.all(Array.from({ length: CONCURRENT_CALLS }, work))
  if (failures.length > 0) throw failures[0]
}

/** Calls the endpoint of a purchase and settles it, unless it was taken over while it waited. */
async function deliver(purchase: HeldPurchase, run: FlowRun, service: ServiceContext): Promise<void> {
  if (!(await service.storage.read((tx) => isPaymentHeld(tx, purchase)))) return
  const answer = await callInFlow(run, purchase, service)
  await run.transaction('settle', (tx) => settlePurchase(tx, purchase, answer, service, { readLater: true }))
}

/** `paying`: the endpoint is being called. `partly_paid`, `reversed`: some, or all, of its purchases failed. */
type LineStatus = 'open' | 'paying' | 'paid' | 'partly_paid' | 'reversed'
type CartStatus = 'open' | 'paying' | 'paid' | 'partly_paid' | 'failed'
type ShownLine = Awaited<ReturnType<typeof showLine>>
type ShownCart = Awaited<ReturnType<typeof showCart>>
const MAX_DELIVERED = 1_048_576

export async function showCart(tx: Reader, cart: CartRow, { keys }: Pick<ServiceContext, 'keys'>) {
  const items: ShownLine[] = []
  const sums = new Map<string, bigint>()
  let left = MAX_DELIVERED
  const lines = await linesOf(tx, cart)
  const ids = lines.flatMap(({ receipts }) => receipts)
  const page = await readReceipts(tx, ids)
  await readQuantities(page, lines)
  for (const row of lines) {
    const receipts: ShownReceipt[] = []
    for (const id of row.receipts) {
      const receipt = await showReceipt(page, id, { keys, for: left > 0 ? 'buyer' : 'others' })
      left -= receipt.response?.body?.length ?? 0
      receipts.push(receipt)
    }
    items.push(await showLine(page, row, receipts))
    sums.set(row.dq, (sums.get(row.dq) ?? 0n) + BigInt(row.price) * BigInt(row.quantity))
  }
  const totals: Record<string, number> = {}
  for (const [dq, sum] of sums) totals[dq] = toAmount(sum, (await quantityOf(page, dq)).decimals)
  return { id: cart.id, status: cartStatus(cart, items), items, totals, created_at: seconds(cart.created_at) }
}

async function showLine(tx: Reader, row: CartLineRow, receipts: ShownReceipt[]) {
  const { line, catalog_item_id, name, seller, dq, quantity } = row
  const price = toAmount(row.price, (await quantityOf(tx, dq)).decimals)
  const status = lineStatus(receipts.map((receipt) => receipt.status))
  return { line, catalog_item_id, name, seller, price, dq, quantity, arguments: row.arguments, status, receipts }
}

function lineStatus(purchases: readonly PurchaseStatus[]): LineStatus {
  if (purchases.length === 0) return 'open'
  if (purchases.includes('held')) return 'paying'
  if (!purchases.includes('reversed')) return 'paid'
  return purchases.includes('paid') ? 'partly_paid' : 'reversed'
}

function cartStatus({ ordered_at }: CartRow, items: readonly ShownLine[]): CartStatus {
  if (ordered_at === null) return 'open'
  const statuses = new Set(items.map(({ status }) => status))
  if (statuses.has('paying')) return 'paying'
  if (statuses.size > 1) return 'partly_paid'
  if (statuses.has('paid')) return 'paid'
  return statuses.has('reversed') ? 'failed' : 'partly_paid'
}
