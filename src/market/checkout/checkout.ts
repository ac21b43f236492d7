import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { base64url, digest } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { DAY } from '../../storage/retention.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { quoteItem } from '../purchases/purchase.js'
import { type ShownReceipt, showReceipt } from '../purchases/receipt.js'
import {
  CHECKOUT_EXPIRES,
  type CheckoutRow,
  type CheckoutStatus,
  checkouts,
  isUser,
  type Payer,
} from './checkout-row.js'

export interface NewCheckout {
  readonly maker: Owner | null
  /** Actor of the event, if not the maker: the client id of an app. */
  readonly actor?: string | undefined
  readonly itemId: number
  readonly args: Readonly<Record<string, unknown>>
  /** The account whose own server creates the link. */
  readonly within?: number | undefined
  readonly email: string | undefined
  readonly successUrl: string | undefined
  readonly cancelUrl: string | undefined
  readonly at: number
}

/** Creates a link that pays for one purchase. Throws what `quoteItem` throws, and `field_invalid` for an unusable URL. */
export async function createCheckout(
  tx: Writer,
  { maker, actor = maker ?? 'guest', itemId, args, within, email, successUrl, cancelUrl, at }: NewCheckout,
  { random, baseUrl }: Pick<ServiceContext, 'random' | 'baseUrl'>,
): Promise<ShownCheckout> {
  const success_url = checkedUrl('success_url', successUrl)
  const cancel_url = checkedUrl('cancel_url', cancelUrl)
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
    expires_at: at + DAY,
    created_at: at,
  }
  tx.put(checkouts, checkout)
  const { id, expires_at } = checkout
  await setTimer(tx, { kind: CHECKOUT_EXPIRES, subject: String(id), at: expires_at, now: at })
  await recordCheckoutEvent(tx, 'created', checkout, { actor, at })
  return showCheckout(tx, checkout, { token, baseUrl, at })
}

const MAX_URL_LENGTH = 2048

function checkedUrl(field: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const url = /[\s\p{Cc}]/u.test(text) ? undefined : parsedUrl(text)
  const isLink = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (isLink && url.href.length <= MAX_URL_LENGTH) return url.href
  const must = `an http or https URL without user name and password, of at most ${MAX_URL_LENGTH} characters`
  throw fieldRefused(field, `must be ${must}`)
}

export async function checkoutByToken(tx: Reader, token: string): Promise<CheckoutRow> {
  const [checkout] = await tx.find(checkouts, { index: 'byToken', prefix: [digest(token)], limit: 1 })
  if (!checkout) throw problem('not_found')
  return checkout
}

/** Returns the status at a time. An unpaid checkout expires on time, even before that is written. */
export const checkoutStatus = ({ status, expires_at }: CheckoutRow, at: number): CheckoutStatus =>
  status === 'unpaid' && expires_at <= at ? 'expired' : status

/** Returns the owner of the purchase. For a guest this is the checkout. */
export const ownerOf = ({ id }: Pick<CheckoutRow, 'id'>, payer: Payer): Owner =>
  isUser(payer) ? payer : `checkout:${id}`

export const receiptIdOf = ({ id, receipt_id }: CheckoutRow): number =>
  required(receipt_id, `the receipt of checkout ${id}`)

export const twinIdOf = ({ id, twin_id }: CheckoutRow): number => required(twin_id, `the twin of checkout ${id}`)

/** Returns a checkout for anyone with its link, without the delivered content. */
export async function readCheckout(tx: Reader, token: string, { clock, baseUrl, keys }: ServiceContext) {
  const at = clock.now()
  const checkout = await checkoutByToken(tx, token)
  if (checkoutStatus(checkout, at) === 'expired') throw problem('checkout_expired')
  const isPaid = checkout.status === 'paid'
  const receipt = isPaid ? await showReceipt(tx, receiptIdOf(checkout), { keys, for: 'others' }) : undefined
  return showCheckout(tx, checkout, { token, baseUrl, at, receipt })
}

export type ShownCheckout = Awaited<ReturnType<typeof showCheckout>>

export async function showCheckout(
  tx: Reader,
  checkout: CheckoutRow,
  { token, baseUrl, at, receipt }: { token: string; baseUrl: string; at: number; receipt?: ShownReceipt | undefined },
) {
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

type ActOf<Type> = Type extends `checkout.${infer Act}` ? Act : never

/** Records an event for the maker of a checkout and for its payer. It does not contain the link's secret. */
export async function recordCheckoutEvent(
  tx: Writer,
  act: ActOf<EventType>,
  checkout: CheckoutRow,
  { actor, to, payer = checkout.payer, at, data }: CheckoutEvent,
): Promise<void> {
  const { id, catalog_item_id, name, dq, price, maker } = checkout
  const own: Owner = `checkout:${id}`
  const amount = toAmount(price, (await quantityOf(tx, dq)).decimals)
  await recordEvent(tx, {
    owners: [to ?? maker ?? own, payer === null ? own : ownerOf(checkout, payer)],
    type: `checkout.${act}`,
    actor,
    subject: `checkout:${id}`,
    data: { catalog_item_id, name, dq, amount, ...data },
    at,
  })
}

interface CheckoutEvent {
  readonly actor: string
  readonly to?: Owner
  /** Payer of the event. Default: whoever paid. */
  readonly payer?: Payer | null
  readonly at: number
  readonly data?: Readonly<Record<string, unknown>>
}
