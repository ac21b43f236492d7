import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import type { Limiting, ServiceContext } from '../../http/context.js'
import { quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type PaymentRow, payments } from '../../payments/payments/payment.js'
import { getOrNotFound, mapInOrder, newestOfAll, type PageBounds, ReadOnce } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type Delivered, type PurchaseRow, purchaseResponses, purchases } from './receipt-row.js'

type Encryption = Pick<ServiceContext, 'keys'>
const encryptionContext = (id: number): string => `purchase_responses:${id}:body`

export interface ResponseToStore {
  readonly delivered: Delivered
  readonly isPaid: boolean
  /** Whose limits count a large body. */
  readonly bearer: Owner
  /** Whether the buyer reads the body later, so that it is stored beyond the limit. */
  readonly readLater: boolean
}

/** Stores the answer of an endpoint. Returns whether its body is kept. */
export async function storeResponse(
  tx: Writer,
  id: number,
  { delivered, isPaid, bearer, readLater }: ResponseToStore,
  service: Encryption & Limiting & Pick<ServiceContext, 'rules'>,
): Promise<boolean> {
  const { status, content_type, body, body_encoding } = delivered
  // As JSON, so that a byte order mark at the beginning stays.
  const sealed = isPaid ? await service.keys.seal(JSON.stringify(body), encryptionContext(id)) : null
  const fits = sealed === null || (await service.rules.countStored(tx, sealed.length, { owner: bearer }, service))
  const isKept = fits || readLater
  tx.put(purchaseResponses, {
    id,
    status,
    content_type,
    body_sealed: isKept ? sealed : null,
    body_encoding: isPaid && isKept ? (body_encoding ?? null) : null,
  })
  return isKept
}

/** `held`: the endpoint is being called. */
export type PurchaseStatus = 'held' | 'paid' | 'reversed'

const purchaseStatus = (payment: PaymentRow | undefined): PurchaseStatus =>
  payment?.status === 'held' ? 'held' : payment?.status === 'posted' ? 'paid' : 'reversed'

/** Null: no complete answer arrived, or it is no longer stored. The body is null in lists, and for everyone but the buyer. */
type ShownResponse = {
  status: number
  content_type: string | null
  body: string | null
  body_encoding?: 'base64'
} | null

export type ShownReceipt = ReturnType<typeof receiptOf>

/** Only the buyer sees the delivered body. */
export type ReceiptView = Encryption & { readonly for: 'buyer' | 'others' }

/** Returns a reader that has already read what `showReceipt` needs for these purchases. */
export async function readReceipts(tx: Reader, ids: readonly number[]): Promise<ReadOnce> {
  const page = new ReadOnce(tx)
  const bought = (await page.getMany(purchases, ids)).filter((row) => row !== undefined)
  await page.getMany(payments, ids)
  await page.getMany(purchaseResponses, ids)
  await readQuantities(page, bought)
  return page
}

export async function showReceipt(tx: Reader, id: number, view: ReceiptView): Promise<ShownReceipt> {
  const row = await getOrNotFound(tx, purchases, id)
  const status = purchaseStatus(await tx.get(payments, id))
  const { decimals } = await quantityOf(tx, row.dq)
  return receiptOf(row, { status, decimals, response: await showResponse(tx, id, view) })
}

export function receiptOf(
  row: PurchaseRow,
  { status, decimals, response }: { status: PurchaseStatus; decimals: number; response: ShownResponse },
) {
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

/** The stored answer that a payment paid for. `id`: of the payment. */
export async function showResponse(tx: Reader, id: number, { keys, for: viewer }: ReceiptView): Promise<ShownResponse> {
  const row = await tx.get(purchaseResponses, id)
  if (!row) return null
  const { status, content_type, body_sealed, body_encoding } = row
  const isShown = viewer === 'buyer' && body_sealed !== null
  // A body that was encrypted with a different key is lost.
  const body: string | null = JSON.parse((isShown && (await keys.open(body_sealed, encryptionContext(id)))) || 'null')
  return { status, content_type, body, ...(body !== null && body_encoding && { body_encoding }) }
}

export async function readPurchase(tx: Reader, caller: Owner, id: number, { keys }: Encryption): Promise<ShownReceipt> {
  const row = await getOrNotFound(tx, purchases, id)
  if (row.buyer !== caller && row.seller_owner !== caller) throw problem('not_found')
  return showReceipt(tx, id, { keys, for: row.buyer === caller ? 'buyer' : 'others' })
}

/** Returns the receipts of which the caller is buyer or seller, newest first, without bodies. Throws `cursor_invalid`. */
export async function listPurchases(tx: Reader, caller: Owner, page: PageBounds, { keys }: Encryption) {
  const places = [
    { index: 'byBuyer', prefix: [caller] },
    { index: 'bySeller', prefix: [caller] },
  ] as const
  const { rows, next } = await newestOfAll(tx, purchases, places, page)
  const ids = rows.map(({ id }) => id)
  const read = await readReceipts(tx, ids)
  return { purchases: await mapInOrder(ids, (id) => showReceipt(read, id, { keys, for: 'others' })), next }
}
