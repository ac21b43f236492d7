import { allRows } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { CheckoutRow, Payer } from './checkout-row.js'

/**
 * `pending`: the outcome is unknown. Then `failed`, `lost` (the outcome stays unknown) or `charged` (the value is in
 * the checkout's twin). From `charged`: `spent`, or `refunding` and then `refunded`. `unrefunded` (the processor
 * refused the refund) and `refund_lost` (its outcome stays unknown) wait for the seller, who changes them to
 * `refunded`, `credited` (to the payer's wallet) or `refunding` again.
 */
export type ChargeStatus =
  | 'pending'
  | 'failed'
  | 'lost'
  | 'charged'
  | 'spent'
  | 'refunding'
  | 'refunded'
  | 'unrefunded'
  | 'refund_lost'
  | 'credited'

/** A charge of a card for a checkout. The id is that of the payment that issues the value. */
export interface CheckoutChargeRow {
  readonly id: number
  readonly checkout_id: number
  /** The checkout's id while the charge is pending or charged. */
  readonly open_of: number | null
  readonly payer: Payer
  readonly status: ChargeStatus
  /** Smallest units of the checkout's digital quantity. */
  readonly amount: string
  /** Recipient of the outbox message. */
  readonly to: string
  /** The processor's id of the charge, once it is charged. */
  readonly charge_id: string | null
  /** The movement that holds the value during a refund. */
  readonly movement_id: number | null
  /** Id of the account that sells the item. */
  readonly seller_id: number
  /** Id of the refund at the processor. Absent before a refund. Refunds of the first release have none. */
  readonly refund_id?: string
  /** Why the processor refused the refund. */
  readonly refusal?: string
}

export const checkoutCharges = collection<CheckoutChargeRow>()(
  'checkout_charges',
  {
    byCheckout: { fields: ['checkout_id'] },
    openByCheckout: { fields: ['open_of'] },
    byPayer: { fields: ['payer', 'status'] },
    byStatus: { fields: ['status'] },
  },
  {
    refs: {
      charge_id: null,
      refund_id: null,
      checkout_id: 'checkouts',
      movement_id: 'movements',
      seller_id: 'accounts',
    },
    growth: {
      by: 'whoever pays a link by card',
      bound: 'One for each charge that its payer or guest attempts. Declines are limited.',
    },
    retention: { until: 'its checkout is removed' },
  },
)

export function putCharge(tx: Writer, charge: Omit<CheckoutChargeRow, 'open_of'>): void {
  const isOpen = charge.status === 'pending' || charge.status === 'charged'
  tx.put(checkoutCharges, { ...charge, open_of: isOpen ? charge.checkout_id : null })
}

export const chargesOf = (tx: Reader, checkoutId: number): AsyncGenerator<CheckoutChargeRow> =>
  allRows(tx, checkoutCharges, { index: 'byCheckout', prefix: [checkoutId] })

const final: ReadonlySet<ChargeStatus> = new Set(['failed', 'spent', 'refunded', 'credited'])

/** Whether a charge of a checkout, or its refund, has not ended or waits for someone. */
export async function hasOpenCharge(tx: Reader, checkoutId: number): Promise<boolean> {
  for await (const { status } of chargesOf(tx, checkoutId)) if (!final.has(status)) return true
  return false
}

/** Returns the charges of a checkout that are pending, or charged and not spent. */
export async function openCharges(tx: Reader, { id }: CheckoutRow): Promise<CheckoutChargeRow[]> {
  const open: CheckoutChargeRow[] = []
  for await (const charge of allRows(tx, checkoutCharges, { index: 'openByCheckout', prefix: [id] })) open.push(charge)
  return open
}

export const chargedFor = async (tx: Reader, checkout: CheckoutRow, payer: Payer) =>
  (await openCharges(tx, checkout)).find((charge) => charge.status === 'charged' && charge.payer === payer)
