import { problem } from '../problem.js'
import { allRows } from '../storage/page.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'
import type { CheckoutRow, Payer } from './checkout.js'

/**
 * `pending`: it is not known yet whether the card is charged; then `failed`, `lost` where that stays unknown, or `charged`: the value
 * waits in the checkout's twin. From there it is `spent`, or `refunding` and at last `refunded`, `unrefunded` where the processor
 * refuses that, or `refund_lost` where it stays unknown whether the card got it: the value is held for good.
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
  /** When the card was declined, if it was. */
  readonly declined_at: number | null
  /** What holds the value while it is refunded. */
  readonly movement_id: number | null
}

export const checkoutCharges = collection<CheckoutChargeRow>()('checkout_charges', {
  openByCheckout: { fields: ['open_of'] },
  declinedByCheckout: { fields: ['checkout_id', 'declined_at'] },
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

const DECLINES_PER_WINDOW = 10
const WINDOW = 15 * 60_000

/** A link is no place to find out which cards are good. Throws `too_many_declines`. */
export async function checkDeclines(tx: Reader, { id }: CheckoutRow, at: number): Promise<void> {
  const latest = { index: 'declinedByCheckout', prefix: [id], limit: DECLINES_PER_WINDOW, reverse: true } as const
  const declinedAt = (await tx.find(checkoutCharges, latest))[DECLINES_PER_WINDOW - 1]?.declined_at ?? null
  if (declinedAt === null || declinedAt <= at - WINDOW) return
  const retryAfter = Math.max(1, Math.ceil((declinedAt + WINDOW - at) / 1000))
  throw problem('too_many_declines', { headers: { 'retry-after': String(retryAfter) } })
}
