import type { Owner } from '../../base/owner.js'
import { payments } from '../../payments/payments/payment.js'
import { collection } from '../../storage/storage.js'

/** An item that was bought. The status is that of its payment. */
export interface PurchaseRow {
  /** The payment's id. */
  readonly id: number
  readonly buyer: Owner
  readonly seller_owner: Owner
  readonly catalog_item_id: number
  readonly commodity_hash: string
  /** As of the time of the purchase, like the next two. */
  readonly name: string
  readonly descriptor: string
  readonly seller: string
  /** Smallest units. */
  readonly amount: string
  readonly dq: string
  readonly created_at: number
}

export const purchases = collection<PurchaseRow>()(
  'purchases',
  { byBuyer: { fields: ['buyer'] }, bySeller: { fields: ['seller_owner'] } },
  {
    refs: { catalog_item_id: 'catalog_items', commodity_hash: 'commodities', dq: 'digital_quantities' },
    growth: { by: 'whoever pays', bound: 'One for each payment of an item.' },
    retention: { forever: 'It is a receipt.' },
  },
)

export interface Delivered {
  readonly status: number
  readonly content_type: string | null
  readonly body: string
  /** Set if the body is not text. */
  readonly body_encoding?: 'base64'
}

/**
 * The answer of an endpoint. Stored apart from the purchase, so that lists do not read it. Also one at the paywall, if its
 * payer may read it again.
 */
export interface PurchaseResponseRow {
  /** The payment's id, which is the purchase's. */
  readonly id: number
  readonly status: number
  readonly content_type: string | null
  /** Null if the purchase was not paid, because the body is not the buyer's then. */
  readonly body_sealed: string | null
  readonly body_encoding: 'base64' | null
}

export const purchaseResponses = collection<PurchaseResponseRow>()(
  'purchase_responses',
  {},
  {
    secrets: ['body_sealed'],
    growth: {
      by: 'whoever pays',
      bound:
        'One for each purchase, and for each call of the paywall that its payer named, of at most `limits.upstreamBytes`. Those beyond 8 KiB have `limits.storedBytesPerDay` in all, per owner.',
    },
    retention: {
      after: 'the purchase',
      keepMs: 'answerDays',
      index: 'id',
      // An answer has up to five megabytes.
      rowsAtOnce: 20,
      endsOf: async (tx, rows) => {
        const paid = await tx.getMany(
          payments,
          rows.map(({ id }) => id),
        )
        return paid.map((payment) => payment?.created_at)
      },
    },
  },
)
