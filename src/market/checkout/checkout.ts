import { base64url } from '../../base/encoding.js'
import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { digest } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { getExisting } from '../../storage/existing.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { catalogItems } from '../catalog/item.js'
import { quoteItem } from '../purchases/purchase.js'
import { type ShownReceipt, showReceipt } from '../purchases/receipt.js'

const LIFETIME = 24 * 3_600_000

/** The kind of timer by which a checkout ends; its subject is the checkout's id. */
export const CHECKOUT_EXPIRES = 'checkout_expires'

/** `paying`: somebody tries to, or a card may have been charged. */
export type CheckoutStatus = 'unpaid' | 'paying' | 'paid' | 'expired'

/** Who pays: a user, or a guest by the digest of their session's id. */
export type Payer = `user:${number}` | `guest:${string}`

/** A link by which one purchase can be paid, by whoever has it. */
export interface CheckoutRow {
  readonly id: number
  /** Of the secret in the link, which rests nowhere: whoever asks for the checkout brings it. */
  readonly token_digest: string
  /** As last written: an unpaid one past its time has expired (`statusOf`). */
  readonly status: CheckoutStatus
  readonly catalog_item_id: number
  /** The item's, as it was then. */
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** The account at whose own server the link was made, which sells its private items so; null for none. */
  readonly within: number | null
  readonly dq: string
  /** Smallest units: what the link is for, and no other price. */
  readonly price: string
  /** Whom it was made for, where that was said. */
  readonly email: string | null
  readonly success_url: string | null
  readonly cancel_url: string | null
  /** Who made it; null for a guest. */
  readonly maker: Owner | null
  /** Names the one try that runs; null when none does. */
  readonly attempt: string | null
  /** When that try began; absent in older rows. */
  readonly attempt_at?: number
  /** Goes up while the process that makes the try lives; absent in older rows. */
  readonly attempt_beat?: number
  /** The receipt of the purchase that paid it, or that the try has begun. */
  readonly receipt_id: number | null
  /** Who paid. */
  readonly payer: Payer | null
  /** Holds what cards were charged, once one was to be. */
  readonly twin_id: number | null
  readonly expires_at: number
  readonly created_at: number
}

export const checkouts = collection<CheckoutRow>()('checkouts', {
  byToken: { fields: ['token_digest'], unique: true },
  // Holds only those that are being tried.
  byAttempt: { fields: ['attempt'], unique: true },
  // Holds only those that are paid.
  byPayer: { fields: ['payer'] },
})

export interface NewCheckout {
  readonly maker: Owner | null
  readonly itemId: number
  readonly args: Readonly<Record<string, unknown>>
  /** The account at whose own server it is made. */
  readonly within?: number | undefined
  readonly email: string | undefined
  readonly successUrl: string | undefined
  readonly cancelUrl: string | undefined
  readonly at: number
}

/** Throws what `quoteItem` throws, and `field_invalid` for an address that no link should lead to. */
export async function createCheckout(
  tx: Writer,
  { maker, itemId, args, within, email, successUrl, cancelUrl, at }: NewCheckout,
  { random, baseUrl }: Pick<ServiceContext, 'random' | 'baseUrl'>,
): Promise<ShownCheckout> {
  const success_url = linkOf('success_url', successUrl)
  const cancel_url = linkOf('cancel_url', cancelUrl)
  const { item, amount, quantity } = await quoteItem(tx, { itemId, args, within })
  const token = `co_${base64url(random.bytes(24))}`
  const checkout: CheckoutRow = {
    id: await tx.nextId('checkouts'),
    token_digest: digest(token),
    status: 'unpaid',
    catalog_item_id: itemId,
    name: item.name,
    arguments: args,
    within: within ?? null,
    dq: quantity.id,
    price: String(amount),
    email: email === undefined ? null : normalEmail(email),
    success_url,
    cancel_url,
    maker,
    attempt: null,
    receipt_id: null,
    payer: null,
    twin_id: null,
    expires_at: at + LIFETIME,
    created_at: at,
  }
  tx.put(checkouts, checkout)
  await setTimer(tx, { kind: CHECKOUT_EXPIRES, subject: String(checkout.id), at: checkout.expires_at })
  await tellCheckout(tx, 'created', checkout, { actor: maker ?? 'guest', at })
  return showCheckout(tx, checkout, { token, baseUrl, at })
}

const LONGEST_LINK = 2048

/** Whoever pays is led there: to a site, by an address that shows which. Throws `field_invalid`. */
function linkOf(field: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const url = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text) ? new URL(text) : undefined
  const isLink = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (isLink && url.href.length <= LONGEST_LINK) return url.href
  throw problem('field_invalid', {
    detail: `"${field}" must be an http or https URL without user name and password, of at most ${LONGEST_LINK} characters.`,
    fields: { field },
  })
}

/** Throws `not_found`. */
export async function checkoutByToken(tx: Reader, token: string): Promise<CheckoutRow> {
  const [checkout] = await tx.find(checkouts, { index: 'byToken', prefix: [digest(token)], limit: 1 })
  if (!checkout) throw problem('not_found')
  return checkout
}

/** The checkout that a try is made of, while it is. */
export async function checkoutOfTry(tx: Reader, attempt: string): Promise<CheckoutRow | undefined> {
  const [checkout] = await tx.find(checkouts, { index: 'byAttempt', prefix: [attempt], limit: 1 })
  return checkout
}

/** What the checkout is at that moment: an unpaid one ends on time, whenever that is written down. */
export const checkoutStatus = ({ status, expires_at }: CheckoutRow, at: number): CheckoutStatus =>
  status === 'unpaid' && expires_at <= at ? 'expired' : status

export const payerOfSession = (sessionId: string, userId: number | null): Payer =>
  userId === null ? `guest:${digest(sessionId)}` : `user:${userId}`

export const isUser = (payer: Payer): payer is `user:${number}` => payer.startsWith('user:')

/** Who buys, as purchases name owners: a guest has no name but the checkout's. */
export const ownerOf = ({ id }: Pick<CheckoutRow, 'id'>, payer: Payer): Owner =>
  isUser(payer) ? payer : `checkout:${id}`

/** The receipt of what paid a checkout. Throws an Error for one that has none. */
export const receiptIdOf = ({ id, receipt_id }: CheckoutRow): number =>
  required(receipt_id, `the receipt of checkout ${id}`)

/** The twin that holds what cards were charged for a checkout. Throws an Error for one that has none. */
export const twinIdOf = ({ id, twin_id }: CheckoutRow): number => required(twin_id, `the twin of checkout ${id}`)

/** A checkout for whoever has its link; what was delivered is shown to its payer alone. Throws `not_found`, `checkout_expired`. */
export async function readCheckout(
  tx: Reader,
  token: string,
  { clock, baseUrl, keys }: Pick<ServiceContext, 'clock' | 'baseUrl' | 'keys'>,
): Promise<ShownCheckout> {
  const at = clock.now()
  const checkout = await checkoutByToken(tx, token)
  if (checkoutStatus(checkout, at) === 'expired') throw problem('checkout_expired')
  const isPaid = checkout.status === 'paid'
  const receipt = isPaid ? await showReceipt(tx, receiptIdOf(checkout), { keys, for: 'others' }) : undefined
  return showCheckout(tx, checkout, { token, baseUrl, at, receipt })
}

export interface ShownCheckout {
  id: number
  token: string
  url: string
  status: CheckoutStatus
  catalog_item_id: number
  name: string
  price: number
  dq: string
  receipt?: ShownReceipt
  expires_at: number
  created_at: number
}

/** Unix seconds; `price` in the digital quantity. */
export async function showCheckout(
  tx: Reader,
  checkout: CheckoutRow,
  { token, baseUrl, at, receipt }: { token: string; baseUrl: string; at: number; receipt?: ShownReceipt | undefined },
): Promise<ShownCheckout> {
  const { id, catalog_item_id, name, dq, price, expires_at, created_at } = checkout
  return {
    id,
    token,
    url: `${baseUrl}/checkout/${token}`,
    status: checkoutStatus(checkout, at),
    catalog_item_id,
    name,
    price: toAmount(price, (await quantityOf(tx, dq)).decimals),
    dq,
    ...(receipt && { receipt }),
    expires_at: seconds(expires_at),
    created_at: seconds(created_at),
  }
}

/**
 * `charge_lost`, `refund_lost`: the processor did not say what came of it, for as long as it was asked. `refund_settled`: an operator
 * said what became of a refund that the card did not get.
 */
export type CheckoutAct =
  | 'created'
  | 'paid'
  | 'expired'
  | 'refunded'
  | 'refund_refused'
  | 'charge_lost'
  | 'refund_lost'
  | 'refund_settled'

/** Tells whoever made it, and the user who pays or paid; the link's secret is told to nobody. */
export async function tellCheckout(
  tx: Writer,
  act: CheckoutAct,
  checkout: CheckoutRow,
  { actor, to, payer = checkout.payer, at, told }: Telling,
): Promise<void> {
  const { id, catalog_item_id, name, dq, price, maker } = checkout
  const own: Owner = `checkout:${id}`
  const amount = toAmount(price, (await quantityOf(tx, dq)).decimals)
  await recordEvent(tx, {
    owners: [to ?? maker ?? own, payer === null ? own : ownerOf(checkout, payer)],
    type: `checkout.${act}`,
    actor,
    subject: `checkout:${id}`,
    data: { catalog_item_id, name, dq, amount, ...told },
    at,
  })
}

/** The id of the account that sells what the link is for. */
export const sellerIdOf = async (tx: Reader, { catalog_item_id }: CheckoutRow): Promise<number> =>
  (await getExisting(tx, catalogItems, catalog_item_id)).account_id

export const checkoutSeller = async (tx: Reader, checkout: CheckoutRow): Promise<Owner> =>
  `account:${await sellerIdOf(tx, checkout)}`

interface Telling {
  readonly actor: string
  /** Who is told in place of the maker. */
  readonly to?: Owner
  /** Whom it concerns beside the maker; who paid, where absent. */
  readonly payer?: Payer | null
  readonly at: number
  /** Told beside the checkout. */
  readonly told?: Readonly<Record<string, unknown>>
}
