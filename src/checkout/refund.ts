import type { SettleRefund } from '../cards/charge.js'
import type { ServiceContext } from '../context.js'
import { quantityOf } from '../digital-quantities/digital-quantity.js'
import { formatAmount } from '../ledger/amount.js'
import { hold, postHold, reverseHold } from '../ledger/movement.js'
import { postRefund } from '../outbox/outbox.js'
import { randomHex } from '../secrets.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'
import { type CheckoutRow, checkouts, type Payer, tellCheckout } from './checkout.js'

/**
 * `pending`: it is not known yet whether the card is charged; then `failed`, or `charged`: the value waits in the checkout's twin.
 * From there it is `spent`, or `refunding` and at last `refunded`, or `unrefunded` where the processor refuses that.
 */
export type ChargeStatus = 'pending' | 'failed' | 'charged' | 'spent' | 'refunding' | 'refunded' | 'unrefunded'

/** A charge of somebody's card for a checkout. The id is that of the payment by which the value is issued. */
export interface CheckoutChargeRow {
  readonly id: number
  readonly checkout_id: number
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
}

export const checkoutCharges = collection<CheckoutChargeRow>()('checkout_charges', {
  byCheckout: { fields: ['checkout_id'] },
})

/** More tries of cards than anybody makes. */
const MOST_CHARGES = 1000

export const chargesOf = (tx: Reader, { id }: CheckoutRow): Promise<CheckoutChargeRow[]> =>
  tx.find(checkoutCharges, { index: 'byCheckout', prefix: [id], limit: MOST_CHARGES })

/** Gives back to their cards what waits in the checkout's twin. */
export async function refundCharges(
  tx: Writer,
  checkout: CheckoutRow,
  { clock, random }: Pick<ServiceContext, 'clock' | 'random'>,
): Promise<void> {
  const at = clock.now()
  for (const charge of await chargesOf(tx, checkout)) {
    if (charge.status !== 'charged') continue
    const { id: dq, decimals, shortcode: currency, issuer_twin_id } = await quantityOf(tx, checkout.dq)
    const movement = await hold(tx, {
      kind: 'refund',
      dq,
      amount: BigInt(charge.amount),
      payerTwinId: checkout.twin_id as number,
      payeeTwinId: issuer_twin_id,
      at,
    })
    tx.put(checkoutCharges, { ...charge, status: 'refunding', movement_id: movement.id })
    const shown = `${formatAmount(charge.amount, decimals)} ${currency}`
    await postRefund(tx, {
      to: charge.to,
      subject: `Refund ${shown}`,
      text: `${checkout.name}: ${shown} goes back to the card that it was charged to.`,
      refund: {
        id: `refund_${randomHex(random, 16)}`,
        charge_id: charge.charge_id as string,
        amount: charge.amount,
        decimals,
        currency,
      },
      purpose: 'checkout',
      purposeId: charge.id,
      at,
    })
  }
}

/** What was refunded goes back to the issuer; what the processor refuses to refund stays in the checkout's twin. */
export const settleCheckoutRefund: SettleRefund = async (tx, { id, result }, { clock }) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding' || charge.movement_id === null) return
  const at = clock.now()
  const checkout = (await tx.get(checkouts, charge.checkout_id)) as CheckoutRow
  if (result.status === 'refunded') {
    await postHold(tx, charge.movement_id, at)
    tx.put(checkoutCharges, { ...charge, status: 'refunded' })
    return tellCheckout(tx, 'refunded', checkout, { actor: 'service', payer: charge.payer, at })
  }
  await reverseHold(tx, charge.movement_id, at)
  tx.put(checkoutCharges, { ...charge, status: 'unrefunded', movement_id: null })
  const { reason } = result
  await tellCheckout(tx, 'refund_refused', checkout, { actor: 'service', payer: charge.payer, at, told: { reason } })
}
