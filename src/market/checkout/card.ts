import type { CardRow, CardSubject } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { networkAt, responsibleFor } from '../../identity/users/responsible.js'
import { emailOf } from '../../identity/users/user.js'
import { checkProcessor, type GiveUpCharge, isChargeable, type SettleCharge } from '../../money/cards/charge.js'
import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText } from '../../money/ledger/amount.js'
import { createTwin, type TwinContext, type TwinRow, twins } from '../../money/twins/twin.js'
import { type ChargeOrder, createPendingPayment, loseTopup, settleTopup } from '../../payments/topups/topup.js'
import { getExisting } from '../../storage/existing.js'
import type { Writer } from '../../storage/storage.js'
import { endAttempt } from './attempt.js'
import { checkoutCharges, putCharge } from './charge.js'
import { recordCheckoutEvent } from './checkout.js'
import { type CheckoutRow, checkoutSeller, checkouts, isUser, type Payer, sellerIdOf } from './checkout-row.js'

type CardOrder = Pick<ChargeOrder, 'quantity' | 'units' | 'paymentMethodId' | 'description' | 'claim'> & {
  readonly payer: Payer
  readonly source: CallSource
}

/** Writes the charge that pays for a checkout. The caller charges it. Throws `card_minimum` and what `createPendingPayment` throws. */
export async function beginCharge(
  tx: Writer,
  checkout: CheckoutRow,
  { payer, source, ...order }: CardOrder,
  service: TwinContext & Pick<ServiceContext, 'cards' | 'clock' | 'instance' | 'limits'>,
): Promise<CardRow> {
  checkProcessor(service)
  const { quantity, units } = order
  if (!isChargeable(units, quantity))
    throw problem('card_minimum', { detail: `The price is ${moneyText(units, quantity)}.` })
  const at = service.clock.now()
  const sellerId = await sellerIdOf(tx, checkout)
  const guests = `guests:account:${sellerId}` as const
  const own = isUser(payer) ? await responsibleFor(tx, payer) : networkAt(source.address)
  const maker: CardSubject = own ?? guests
  // A guest's network alone never reaches the limit of all guests.
  const subjects = [`checkout:${checkout.id}`, maker, ...(own && !isUser(payer) ? [guests] : [])] as const
  const twin = await twinOf(tx, checkout, quantity, service)
  // A guest's email is the one that the link was made for, if any.
  const to = (await emailOf(tx, payer)) ?? checkout.email ?? twin.hostname
  const charged = { ...order, twin, to, purpose: 'checkout', subjects, maker, at } as const
  const { payment, message } = await createPendingPayment(tx, charged, service)
  const charge = {
    id: payment.id,
    checkout_id: checkout.id,
    payer,
    status: 'pending',
    amount: String(units),
    to,
  } as const
  putCharge(tx, { ...charge, seller_id: sellerId, charge_id: null, movement_id: null })
  return message
}

async function twinOf(
  tx: Writer,
  checkout: CheckoutRow,
  { id: dq }: DigitalQuantityRow,
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<TwinRow> {
  if (checkout.twin_id !== null) return await getExisting(tx, twins, checkout.twin_id)
  const twin = await createTwin(tx, { owner: `checkout:${checkout.id}`, dq, at: service.clock.now() }, service)
  tx.put(checkouts, { ...(await getExisting(tx, checkouts, checkout.id)), twin_id: twin.id })
  return twin
}

/**
 * Issues the charged value to the checkout's twin. If no request is waiting for it, the checkout becomes unpaid again
 * and the payer can pay with that value, or the card is refunded if the checkout has expired.
 */
export const settleCheckoutCharge: SettleCharge = async (tx, { id, result }, service) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'pending') return
  await settleTopup(tx, { id, result }, service)
  const isCharged = result.status === 'succeeded'
  const charge_id = isCharged ? result.charge_id : null
  putCharge(tx, { ...charge, status: isCharged ? 'charged' : 'failed', charge_id })
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  if (checkout.status === 'paying' && (checkout.attempt === null || !isCharged)) await endAttempt(tx, checkout, service)
}

/** Ends the attempt of a charge whose outcome stayed unknown for days. The link can be paid again, or has expired. */
export const loseCheckoutCharge: GiveUpCharge = async (tx, { id, chargeId }, service) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'pending') return
  await loseTopup(tx, { id, chargeId }, service)
  putCharge(tx, { ...charge, status: 'lost' })
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  const data = { unknown_charge: chargeId }
  const event = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await recordCheckoutEvent(tx, 'charge_lost', checkout, { ...event, at: service.clock.now(), data })
  if (checkout.status === 'paying') await endAttempt(tx, checkout, service)
}
