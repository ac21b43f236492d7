import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type PaymentRow, payments } from '../../payments/payments/payment.js'
import { newestOfAll } from '../../storage/page.js'
import { ReadOnce } from '../../storage/read-once.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** An item that was bought. Whether it is paid, its payment says. */
export interface PurchaseRow {
  /** The payment's. */
  readonly id: number
  readonly buyer: Owner
  readonly seller_owner: Owner
  readonly catalog_item_id: number
  readonly commodity_hash: string
  /** These as they were when it was bought. */
  readonly name: string
  readonly descriptor: string
  readonly seller: string
  /** Smallest units. */
  readonly amount: string
  readonly dq: string
  readonly created_at: number
}

export const purchases = collection<PurchaseRow>()('purchases', {
  byBuyer: { fields: ['buyer'] },
  bySeller: { fields: ['seller_owner'] },
})

/** What an endpoint answered. */
export interface Delivered {
  readonly status: number
  readonly content_type: string | null
  readonly body: string
  /** Where the body is no text. */
  readonly body_encoding?: 'base64'
}

/** What an endpoint answered to a purchase. Apart from it, so that a list of those does not read it. */
export interface PurchaseResponseRow {
  /** The purchase's. */
  readonly id: number
  readonly status: number
  readonly content_type: string | null
  /** Null where it is not the buyer's, as it was not paid for. */
  readonly body_sealed: string | null
  readonly body_encoding: 'base64' | null
}

export const purchaseResponses = collection<PurchaseResponseRow>()('purchase_responses', {})

type Sealing = Pick<ServiceContext, 'keys'>

const sealContext = (id: number): string => `purchase_responses:${id}:body`

/** Keeps what was answered; its body only where that is the buyer's. */
export async function putResponse(
  tx: Writer,
  id: number,
  { delivered, isPaid }: { delivered: Delivered; isPaid: boolean },
  { keys }: Sealing,
): Promise<void> {
  const { status, content_type, body, body_encoding } = delivered
  tx.put(purchaseResponses, {
    id,
    status,
    content_type,
    // As JSON: text that begins with a byte order mark keeps it.
    body_sealed: isPaid ? await keys.seal(JSON.stringify(body), sealContext(id)) : null,
    body_encoding: isPaid ? (body_encoding ?? null) : null,
  })
}

/** `held` while the item's endpoint is being called. */
export type PurchaseStatus = 'held' | 'paid' | 'reversed'

const statusOf = (payment: PaymentRow | undefined): PurchaseStatus => {
  if (payment?.status === 'held') return 'held'
  return payment?.status === 'posted' ? 'paid' : 'reversed'
}

export interface ShownReceipt {
  transaction_id: number
  catalog_item_id: number
  name: string
  descriptor: string
  seller: string
  amount: number
  dq: string
  status: PurchaseStatus
  commodity_hash: string
  /** Null where no whole answer came. The body is null for whoever may not see it, and in lists. */
  response: { status: number; content_type: string | null; body: string | null; body_encoding?: 'base64' } | null
  created_at: number
}

/** For its buyer a receipt holds what was delivered; for others, and in lists, it does not. */
export interface ReceiptView extends Pick<ServiceContext, 'keys'> {
  readonly for: 'buyer' | 'others'
}

/** A reader that has what `showReceipt` shows of each of these purchases. */
export async function readReceipts(tx: Reader, ids: readonly number[]): Promise<ReadOnce> {
  const page = new ReadOnce(tx)
  const rows = await page.getMany(purchases, ids)
  await page.getMany(payments, ids)
  await page.getMany(purchaseResponses, ids)
  await readQuantities(
    page,
    rows.filter((row) => row !== undefined),
  )
  return page
}

/** The receipt of a purchase. Throws `not_found`. */
export async function showReceipt(tx: Reader, id: number, view: ReceiptView): Promise<ShownReceipt> {
  const row = await tx.get(purchases, id)
  if (!row) throw problem('not_found')
  const status = statusOf(await tx.get(payments, id))
  const { decimals } = await quantityOf(tx, row.dq)
  return receiptOf(row, { status, decimals, response: await showResponse(tx, id, view) })
}

/** A receipt, made of what is known of it. */
export function receiptOf(
  row: PurchaseRow,
  { status, decimals, response }: Pick<ShownReceipt, 'status' | 'response'> & { readonly decimals: number },
): ShownReceipt {
  const { id, catalog_item_id, name, descriptor, seller, amount, dq, commodity_hash, created_at } = row
  return {
    transaction_id: id,
    catalog_item_id,
    name,
    descriptor,
    seller,
    amount: toAmount(amount, decimals),
    dq,
    status,
    commodity_hash,
    response,
    created_at: seconds(created_at),
  }
}

async function showResponse(
  tx: Reader,
  id: number,
  { keys, for: viewer }: ReceiptView,
): Promise<ShownReceipt['response']> {
  const row = await tx.get(purchaseResponses, id)
  if (!row) return null
  const { status, content_type, body_sealed, body_encoding } = row
  const isShown = viewer === 'buyer' && body_sealed !== null
  // One that was sealed under another key is as lost.
  const body: string | null = JSON.parse((isShown && (await keys.open(body_sealed, sealContext(id)))) || 'null')
  return { status, content_type, body, ...(body !== null && body_encoding && { body_encoding }) }
}

/** A purchase of which the caller is buyer or seller; the seller sees no body. Throws `not_found`, for another's too. */
export async function readReceipt(tx: Reader, caller: Owner, id: number, { keys }: Sealing): Promise<ShownReceipt> {
  const row = await tx.get(purchases, id)
  if (!row || (row.buyer !== caller && row.seller_owner !== caller)) throw problem('not_found')
  return showReceipt(tx, id, { keys, for: row.buyer === caller ? 'buyer' : 'others' })
}

/** Purchases of which the caller is buyer or seller, newest first, without bodies. Throws `cursor_invalid`. */
export async function listReceipts(
  tx: Reader,
  caller: Owner,
  page: { limit?: number | undefined; after?: number | undefined },
  { keys }: Sealing,
) {
  const places = [
    { index: 'byBuyer', prefix: [caller] },
    { index: 'bySeller', prefix: [caller] },
  ] as const
  const { rows, next } = await newestOfAll(tx, purchases, places, page)
  const ids = rows.map(({ id }) => id)
  const read = await readReceipts(tx, ids)
  const shown = []
  for (const id of ids) shown.push(await showReceipt(read, id, { keys, for: 'others' }))
  return { purchases: shown, next }
}
