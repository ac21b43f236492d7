import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import type { OnSignIn } from '../../http/context.js'
import { countedDaily } from '../../storage/growth.js'
import { getOrNotFound } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
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
  /** When it ends. Nobody reaches an open cart after that. */
  readonly expires_at: number
}

export const carts = collection<CartRow>()(
  'carts',
  { byHolder: { fields: ['holder'] }, byExpiry: { fields: ['expires_at'] } },
  {
    secrets: ['holder'],
    growth: countedDaily('anybody, by createCart', 'owner or client address'),
    retention: {
      after: 'a day without a change; 30 days for an agent or account; 90 days after it was paid',
      keepMs: 0,
      index: 'byExpiry',
      belongings: {
        are: 'its lines',
        most: 50,
        async remove(tx, { id }) {
          for (const line of await linesOf(tx, { id })) tx.remove(cartLines, line.id)
        },
      },
    },
  },
)

/** When an open cart ends that was changed at a time. A session ends within a day; a token may be refreshed for ever. */
export const cartExpiry = (holder: string, at: number): number => at + (holder.startsWith('token:') ? 30 * DAY : DAY)

/** When the sweep removes a cart that was paid at a time. Its receipts stay. */
export const paidCartExpiry = (at: number): number => at + 90 * DAY

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

export const cartLines = collection<CartLineRow>()(
  'cart_lines',
  { byCart: { fields: ['cart_id', 'line'] } },
  {
    refs: { cart_id: 'carts', catalog_item_id: 'catalog_items', dq: 'digital_quantities' },
    growth: { by: 'the holder of a cart', most: 50, per: 'cart', beyond: 'cart_full' },
    retention: { until: 'its cart is removed' },
  },
)

export const MAX_LINES = 50

export const linesOf = (tx: Reader, { id }: Pick<CartRow, 'id'>): Promise<CartLineRow[]> =>
  tx.find(cartLines, { index: 'byCart', prefix: [id], limit: MAX_LINES })

/** The part of a principal that identifies its credential. */
export type CartCaller =
  | { readonly kind: 'account' | 'agent'; readonly family_id: string }
  | { readonly kind: 'user'; readonly family_id?: string }
  | { readonly kind: 'guest'; readonly user_id: number | null }

export function holderOf(caller: CartCaller, sessionId: string): string {
  if (caller.kind === 'guest') return caller.user_id === null ? guestHolder(sessionId) : sessionHolder(sessionId)
  return caller.family_id === undefined ? sessionHolder(sessionId) : `token:${caller.family_id}`
}

/** A signed-in session has a name of its own, so that its id alone no longer reaches the cart after sign-out. */
const sessionHolder = (sessionId: string): string => `session:${digest(sessionId)}`
const guestHolder = (sessionId: string): string => `guest:${digest(sessionId)}`

export async function createCart(tx: Writer, { holder, at }: { holder: string; at: number }): Promise<CartRow> {
  const id = await tx.nextId('carts')
  const expires_at = cartExpiry(holder, at)
  const cart: CartRow = { id, holder, lines_made: 0, created_at: at, ordered_at: null, expires_at }
  tx.put(carts, cart)
  return cart
}

export interface CartPlace {
  readonly id: number
  readonly holder: string
  /** The calling account, which may buy its own private items. */
  readonly within: number | undefined
  readonly at: number
}

/** Returns the caller's cart. Throws `not_found`. */
export async function ownCart(tx: Reader, { id, holder, at }: CartPlace): Promise<CartRow> {
  const cart = await getOrNotFound(tx, carts, id, { holder })
  if (hasEnded(cart, at)) throw problem('not_found')
  return cart
}

const hasEnded = ({ ordered_at, expires_at }: CartRow, at: number): boolean => ordered_at === null && expires_at <= at

/** Returns the caller's cart if it is open. Throws `not_found`, `cart_closed`. */
export async function openCart(tx: Reader, place: CartPlace): Promise<CartRow> {
  const cart = await ownCart(tx, place)
  if (cart.ordered_at !== null) throw problem('cart_closed')
  return cart
}

/** How many carts a sign-in moves. Anybody makes more within one session, and one transaction moves them. */
const MOST_MOVED = 1000

/** Moves the newest carts of a session to its new id at sign-in, unless a different user signs in. The others end in time. */
export const moveCartsAtSignIn: OnSignIn = async (tx, { previousSessionId, previousUserId, sessionId, userId, at }) => {
  if (previousUserId !== null && previousUserId !== userId) return
  const previous = holderOf({ kind: 'guest', user_id: previousUserId }, previousSessionId)
  const newest = { index: 'byHolder', prefix: [previous], limit: MOST_MOVED, reverse: true } as const
  for (const cart of await tx.find(carts, newest))
    if (!hasEnded(cart, at)) tx.put(carts, { ...cart, holder: sessionHolder(sessionId) })
}
