import { problem } from '../../base/problem.js'
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

export interface NewLine {
  readonly itemId: number
  readonly args: Arguments
  readonly quantity: number
}

/**
 * Adds an item to a cart. Throws `not_found`, also for an unknown item, `cart_closed`, `cart_full`, and what
 * `quoteItem` throws.
 */
export async function addCartItem(tx: Writer, place: CartPlace, { itemId, args, quantity }: NewLine): Promise<CartRow> {
  const cart = await openCart(tx, place)
  if ((await linesOf(tx, cart)).length >= MAX_LINES) throw problem('cart_full')
  const quote = await quoteItem(tx, { itemId, args, within: place.within })
  const line = cart.lines_made + 1
  const changed = touched(tx, { ...cart, lines_made: line }, place)
  tx.put(cartLines, {
    id: `${cart.id}:${line}`,
    cart_id: cart.id,
    line,
    catalog_item_id: itemId,
    ...quotedFields(quote),
    quantity,
    arguments: args,
    receipts: [],
  })
  return changed
}

/** A change keeps an open cart alive. */
function touched(tx: Writer, cart: CartRow, { at }: CartPlace): CartRow {
  const kept: CartRow = { ...cart, expires_at: cartExpiry(cart.holder, at) }
  tx.put(carts, kept)
  return kept
}

const quotedFields = ({
  item,
  seller,
  amount,
  quantity,
}: Quote): Pick<CartLineRow, 'name' | 'seller' | 'price' | 'dq'> => ({
  name: item.name,
  seller,
  price: String(amount),
  dq: quantity.id,
})

export interface LineChange {
  readonly args: Arguments | undefined
  readonly quantity: number | undefined
}

/** Changes a line. Its quoted price stays. Throws `not_found`, `cart_closed`, and what `quoteItem` throws. */
export async function updateCartItem(
  tx: Writer,
  place: CartPlace,
  line: number,
  { args, quantity }: LineChange,
): Promise<CartRow> {
  const { cart, row } = await openLine(tx, place, line)
  if (args !== undefined) await quoteItem(tx, { itemId: row.catalog_item_id, args, within: place.within })
  tx.put(cartLines, { ...row, arguments: args ?? row.arguments, quantity: quantity ?? row.quantity })
  return touched(tx, cart, place)
}

/** Removes a line. Throws `not_found`, `cart_closed`. */
export async function deleteCartItem(tx: Writer, place: CartPlace, line: number): Promise<CartRow> {
  const { cart, row } = await openLine(tx, place, line)
  tx.remove(cartLines, row.id)
  return touched(tx, cart, place)
}

async function openLine(tx: Reader, place: CartPlace, line: number) {
  const cart = await openCart(tx, place)
  return { cart, row: await getOrNotFound(tx, cartLines, `${cart.id}:${line}`) }
}

/** Deletes an open cart with its lines. Throws `not_found`, `cart_closed`. */
export async function deleteCart(tx: Writer, place: CartPlace): Promise<void> {
  const cart = await openCart(tx, place)
  for (const { id } of await linesOf(tx, cart)) tx.remove(cartLines, id)
  tx.remove(carts, cart.id)
}
