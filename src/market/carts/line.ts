import { Problem, problem, problemSentence } from '../../base/problem.js'
import { required } from '../../base/required.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { Sums } from '../../payments/payments/payer.js'
import { getOrNotFound } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Arguments } from '../catalog/schema.js'
import { type Quote, quoteItem } from '../purchases/purchase.js'
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
