import { required } from '../../base/required.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { postRefund } from '../../jobs/outbox/outbox.js'
import type { GiveUpRefund, SettleRefund } from '../../money/cards/charge.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { hold, postHold, reverseHold } from '../../money/ledger/movement.js'
import { getExisting } from '../../storage/existing.js'
import type { Writer } from '../../storage/storage.js'
import { type CheckoutChargeRow, checkoutCharges, openCharges, putCharge } from './charge.js'
import { type CheckoutRow, checkoutSeller, checkouts, tellCheckout, twinIdOf } from './checkout.js'
import { mailUnrefunded } from './refund-mail.js'

/** Gives back to their cards what waits in the checkout's twin. */
export async function refundCharges(
  tx: Writer,
  checkout: CheckoutRow,
  service: Pick<ServiceContext, 'clock' | 'random'>,
): Promise<void> {
  for (const charge of await openCharges(tx, checkout))
    if (charge.status === 'charged') await refundCharge(tx, charge, checkout, service)
}

/** Holds what a charge left in the checkout's twin, and asks the processor to give it back. */
export async function refundCharge(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { clock, random }: Pick<ServiceContext, 'clock' | 'random'>,
): Promise<void> {
  const at = clock.now()
  const { id: dq, issuer_twin_id } = await quantityOf(tx, checkout.dq)
  const amount = BigInt(charge.amount)
  const parties = { payerTwinId: twinIdOf(checkout), payeeTwinId: issuer_twin_id }
  const movement = await hold(tx, { kind: 'refund', dq, amount, ...parties, at })
  const refund_id = `refund_${randomHex(random, 16)}`
  await askRefund(tx, { ...charge, movement_id: movement.id, refund_id }, checkout, at)
}

/** Asks the processor for the refund that the charge names: again, where it was asked before. */
export async function askRefund(
  tx: Writer,
  charge: CheckoutChargeRow & { readonly refund_id: string },
  checkout: CheckoutRow,
  at: number,
): Promise<void> {
  const { decimals, shortcode: currency } = await quantityOf(tx, checkout.dq)
  putCharge(tx, { ...charge, status: 'refunding' })
  const shown = `${formatAmount(charge.amount, decimals)} ${currency}`
  await postRefund(tx, {
    to: charge.to,
    subject: `Refund ${shown}`,
    text: `${checkout.name}: ${shown} goes back to the card that it was charged to.`,
    refund: {
      id: charge.refund_id,
      charge_id: required(charge.charge_id, `the processor's name for charge ${charge.id}`),
      amount: charge.amount,
      decimals,
      currency,
    },
    purpose: 'checkout',
    purposeId: charge.id,
    at,
  })
}

/** What was refunded goes back to the issuer; what the processor refuses to refund stays in the checkout's twin. */
export const settleCheckoutRefund: SettleRefund = async (tx, { id, result }, service) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding' || charge.movement_id === null) return
  const at = service.clock.now()
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  if (result.status === 'refunded') {
    await postHold(tx, charge.movement_id, at)
    putCharge(tx, { ...charge, status: 'refunded' })
    return tellCheckout(tx, 'refunded', checkout, { actor: 'service', payer: charge.payer, at })
  }
  await reverseHold(tx, charge.movement_id, at)
  const { reason } = result
  const refused: CheckoutChargeRow = { ...charge, status: 'unrefunded', movement_id: null, refusal: reason }
  putCharge(tx, refused)
  const told = { reason, charge_id: charge.charge_id, refund: charge.id }
  const telling = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await tellCheckout(tx, 'refund_refused', checkout, { ...telling, at, told })
  await mailUnrefunded(tx, refused, checkout, { why: `The reason given: ${reason}.`, at, baseUrl: service.baseUrl })
}

/** The card may have got it, so the value stays held; asking again by another name might give it back twice. */
export const loseCheckoutRefund: GiveUpRefund = async (tx, { id, refundId }, { clock, baseUrl }) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding') return
  const lost: CheckoutChargeRow = { ...charge, status: 'refund_lost', refund_id: refundId }
  putCharge(tx, lost)
  const at = clock.now()
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  const told = { unknown_refund: refundId, charge_id: charge.charge_id, refund: charge.id }
  const telling = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await tellCheckout(tx, 'refund_lost', checkout, { ...telling, at, told })
  const why = 'The card processor did not say whether the card got it.'
  await mailUnrefunded(tx, lost, checkout, { why, at, baseUrl })
}
