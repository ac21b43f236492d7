import type { LoseRefund, SettleRefund } from '../cards/charge.js'
import type { ServiceContext } from '../context.js'
import { quantityOf } from '../digital-quantities/digital-quantity.js'
import { formatAmount } from '../ledger/amount.js'
import { hold, postHold, reverseHold } from '../ledger/movement.js'
import { postRefund } from '../outbox/outbox.js'
import { randomHex } from '../secrets.js'
import type { Writer } from '../storage/storage.js'
import { checkoutCharges, openCharges, putCharge } from './charge.js'
import { type CheckoutRow, checkouts, sellerOf, tellCheckout } from './checkout.js'

/** Gives back to their cards what waits in the checkout's twin. */
export async function refundCharges(
  tx: Writer,
  checkout: CheckoutRow,
  { clock, random }: Pick<ServiceContext, 'clock' | 'random'>,
): Promise<void> {
  const at = clock.now()
  for (const charge of await openCharges(tx, checkout)) {
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
    putCharge(tx, { ...charge, status: 'refunding', movement_id: movement.id })
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
    putCharge(tx, { ...charge, status: 'refunded' })
    return tellCheckout(tx, 'refunded', checkout, { actor: 'service', payer: charge.payer, at })
  }
  await reverseHold(tx, charge.movement_id, at)
  putCharge(tx, { ...charge, status: 'unrefunded', movement_id: null })
  const { reason } = result
  await tellCheckout(tx, 'refund_refused', checkout, { actor: 'service', payer: charge.payer, at, told: { reason } })
}

/** The card may have got it, so the value stays held; asking again by another name might give it back twice. */
export const loseCheckoutRefund: LoseRefund = async (tx, { id, refundId }, { clock }) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding') return
  putCharge(tx, { ...charge, status: 'refund_lost' })
  const checkout = (await tx.get(checkouts, charge.checkout_id)) as CheckoutRow
  const told = { unknown_refund: refundId, charge_id: charge.charge_id }
  const telling = { actor: 'service', to: await sellerOf(tx, checkout), payer: charge.payer } as const
  await tellCheckout(tx, 'refund_lost', checkout, { ...telling, at: clock.now(), told })
}
