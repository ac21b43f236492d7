import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import type { OnSignIn } from '../../http/context.js'
import { allRows } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { Arguments } from '../catalog/schema.js'

/** Items from one or more sellers that are paid together. */
export interface CartRow {
  readonly id: number
  /** The credential that created it. Only this credential reaches it. See `holderOf`. */
  readonly holder: string
  /** How many lines it ever had, so that line numbers are never reused. */
  readonly lines_made: number
  readonly created_at: number
  /** Null: the cart is open. Afterwards its purchases have its status. */
  readonly ordered_at: number | null
}

export const carts = collection<CartRow>()('carts', { byHolder: { fields: ['holder'] } })

/** An item in a cart, `quantity` times with the same arguments. The id is `<cart>:<line>`. */
export interface CartLineRow {
  readonly id: string
  readonly cart_id: number
  /** Number within the cart, from 1. */
  readonly line: number
  readonly catalog_item_id: number
  readonly name: string
  readonly seller: string
  /** Price of one in smallest units, quoted when the line was added. */
  readonly price: string
  readonly dq: string
  readonly quantity: number
  readonly arguments: Arguments
  /** Ids of the receipts once the cart is paid, one for each unit. */
  readonly receipts: readonly number[]
}

export const cartLines = collection<CartLineRow>()('cart_lines', { byCart: { fields: ['cart_id', 'line'] } })

/** The part of a principal that identifies its credential. */
export type CartCaller =
  | { readonly kind: 'account' | 'agent'; readonly family_id: string }
  | { readonly kind: 'user'; readonly family_id?: string }
  | { readonly kind: 'guest'; readonly user_id: number | null }

/** Returns the name of a caller's credential. It stays the same when an access token is refreshed. */
export function holderOf(caller: CartCaller, sessionId: string): string {
  if (caller.kind === 'guest') return caller.user_id === null ? guestHolder(sessionId) : sessionHolder(sessionId)
  return caller.family_id === undefined ? sessionHolder(sessionId) : `token:${caller.family_id}`
}

/** A signed-in session has a name of its own, so that its id alone no longer reaches the cart after sign-out. */
const sessionHolder = (sessionId: string): string => `session:${digest(sessionId)}`
const guestHolder = (sessionId: string): string => `guest:${digest(sessionId)}`

export async function createCart(tx: Writer, { holder, at }: { holder: string; at: number }): Promise<CartRow> {
  const cart: CartRow = { id: await tx.nextId('carts'), holder, lines_made: 0, created_at: at, ordered_at: null }
  tx.put(carts, cart)
  return cart
}

/** A cart and the credential of the request. */
export interface CartPlace {
  readonly id: number
  readonly holder: string
  /** The calling account, which may buy its own private items. */
  readonly within: number | undefined
}

/** Returns the caller's cart. Throws `not_found`. */
export async function ownCart(tx: Reader, { id, holder }: CartPlace): Promise<CartRow> {
  const cart = await tx.get(carts, id)
  if (cart?.holder !== holder) throw problem('not_found')
  return cart
}

/** Returns the caller's cart if it is open. Throws `not_found`, `cart_closed`. */
export async function openCart(tx: Reader, place: CartPlace): Promise<CartRow> {
  const cart = await ownCart(tx, place)
  if (cart.ordered_at !== null) throw problem('cart_closed')
  return cart
}

/** Moves the carts of a session to its new id at sign-in, unless a different user signs in. */
export const moveCartsAtSignIn: OnSignIn = async (tx, { previousSessionId, previousUserId, sessionId, userId }) => {
  if (previousUserId !== null && previousUserId !== userId) return
  const previous = holderOf({ kind: 'guest', user_id: previousUserId }, previousSessionId)
  for await (const cart of allRows(tx, carts, { index: 'byHolder', prefix: [previous] }))
    tx.put(carts, { ...cart, holder: sessionHolder(sessionId) })
}
