import { allRows } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { CheckoutRow, Payer } from './checkout.js'

/**
 * `pending`: it is not known yet whether the card is charged; then `failed`, `lost` where that stays unknown, or `charged`: the value
 * waits in the checkout's twin. From there it is `spent`, or `refunding` and at last `refunded`. `unrefunded` (the processor refuses the
 * refund) and `refund_lost` (it stays unknown whether the card got it) wait for an operator, who ends them as `refunded`, as
 * `credited` to the payer's wallet, or as `refunding` again.
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

/** A charge of somebody's card for a checkout. The id is that of the payment by which the value is issued. */
export interface CheckoutChargeRow {
  readonly id: number
  readonly checkout_id: number
  /** The checkout's id, while it is pending or charged. */
  readonly open_of: number | null
  readonly payer: Payer
  readonly status: ChargeStatus
  /** Smallest units of the checkout's digital quantity. */
  readonly amount: string
  /** Whom it concerns, as the outbox addresses that. */
  readonly to: string
  /** The processor's name for it, once it is charged. */
  readonly charge_id: string | null
  /** What holds the value while it is refunded. */
  readonly movement_id: number | null
  /** The id of the account that sells what the link is for; absent in older rows. */
  readonly seller_id?: number
  /** Names the refund to the processor; absent before there is one, and in older rows. */
  readonly refund_id?: string
  /** Why the processor refused the refund. */
  readonly refusal?: string
}

export const checkoutCharges = collection<CheckoutChargeRow>()('checkout_charges', {
  openByCheckout: { fields: ['open_of'] },
  byPayer: { fields: ['payer', 'status'] },
  byStatus: { fields: ['status'] },
})

export function putCharge(tx: Writer, charge: Omit<CheckoutChargeRow, 'open_of'>): void {
  const isOpen = charge.status === 'pending' || charge.status === 'charged'
  tx.put(checkoutCharges, { ...charge, open_of: isOpen ? charge.checkout_id : null })
}

/** The charges of a checkout of which something is yet to come: those that are pending, and those that are charged and not spent. */
export async function openCharges(tx: Reader, { id }: CheckoutRow): Promise<CheckoutChargeRow[]> {
  const open: CheckoutChargeRow[] = []
  for await (const charge of allRows(tx, checkoutCharges, { index: 'openByCheckout', prefix: [id] })) open.push(charge)
  return open
}

/** What the payer's card was charged before and is not spent: it pays, and no card is charged again. */
export const chargedFor = async (
  tx: Reader,
  checkout: CheckoutRow,
  payer: Payer,
): Promise<CheckoutChargeRow | undefined> =>
  (await openCharges(tx, checkout)).find((charge) => charge.status === 'charged' && charge.payer === payer)
