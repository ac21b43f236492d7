import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import type { OnSignIn } from '../../http/context.js'
import { allRows } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { Arguments } from '../catalog/schema.js'

/** Items from one or many sellers, to be paid at once. */
export interface CartRow {
  readonly id: number
  /** The credential that made it, which alone reaches it: `holderOf`. */
  readonly holder: string
  /** How many lines it ever had: a line's number is not given again. */
  readonly lines_made: number
  readonly created_at: number
  /** Null while it is open. Afterwards its purchases say how it stands. */
  readonly ordered_at: number | null
}

export const carts = collection<CartRow>()('carts', { byHolder: { fields: ['holder'] } })

/** An item in a cart, so many times with the same arguments. The id is the cart's and the line's number. */
export interface CartLineRow {
  readonly id: string
  readonly cart_id: number
  /** Counts the lines of its cart from 1. */
  readonly line: number
  readonly catalog_item_id: number
  readonly name: string
  readonly seller: string
  /** Of one, in smallest units, as it was quoted when the line was added. */
  readonly price: string
  readonly dq: string
  readonly quantity: number
  readonly arguments: Arguments
  /** Ids of the receipts, one for each, once it is paid. */
  readonly receipts: readonly number[]
}

export const cartLines = collection<CartLineRow>()('cart_lines', { byCart: { fields: ['cart_id', 'line'] } })

/** A caller as far as carts know them by their credential: a principal is one. */
export type CartCaller =
  | { readonly kind: 'account' | 'agent'; readonly family_id: string }
  | { readonly kind: 'user'; readonly family_id?: string }
  | { readonly kind: 'guest'; readonly user_id: number | null }

/** Names a caller's credential. An access token and those that it is refreshed to are one. */
export function holderOf(caller: CartCaller, sessionId: string): string {
  if (caller.kind === 'guest') return caller.user_id === null ? heldByGuest(sessionId) : heldBySession(sessionId)
  return caller.family_id === undefined ? heldBySession(sessionId) : `token:${caller.family_id}`
}

/** What a signed-in session made is no longer had by its id alone, once it has ended. */
const heldBySession = (sessionId: string): string => `session:${digest(sessionId)}`
const heldByGuest = (sessionId: string): string => `guest:${digest(sessionId)}`

export async function createCart(tx: Writer, { holder, at }: { holder: string; at: number }): Promise<CartRow> {
  const cart: CartRow = { id: await tx.nextId('carts'), holder, lines_made: 0, created_at: at, ordered_at: null }
  tx.put(carts, cart)
  return cart
}

/** A cart, and the credential that asks for it. */
export interface CartPlace {
  readonly id: number
  readonly holder: string
  /** The account that asks, which may buy its own private items. */
  readonly within: number | undefined
}

/** Throws `not_found`, for another's too. */
export async function ownCart(tx: Reader, { id, holder }: CartPlace): Promise<CartRow> {
  const cart = await tx.get(carts, id)
  if (cart?.holder !== holder) throw problem('not_found')
  return cart
}

/** A cart that may still change. Throws `not_found`, `cart_closed`. */
export async function openCart(tx: Reader, place: CartPlace): Promise<CartRow> {
  const cart = await ownCart(tx, place)
  if (cart.ordered_at !== null) throw problem('cart_closed')
  return cart
}

/** The carts of a session that goes on under another id go with it, unless somebody else signs in. */
export const keepCarts: OnSignIn = async (tx, { previousSessionId, previousUserId, sessionId, userId }) => {
  if (previousUserId !== null && previousUserId !== userId) return
  const previous = holderOf({ kind: 'guest', user_id: previousUserId }, previousSessionId)
  for await (const cart of allRows(tx, carts, { index: 'byHolder', prefix: [previous] }))
    tx.put(carts, { ...cart, holder: heldBySession(sessionId) })
}
