import type { Owner } from '../../base/owner.js'
import { required } from '../../base/required.js'
import { randomHex } from '../../base/secrets.js'
import { quoted } from '../../base/text/quotation.js'
import type { ServiceContext } from '../../http/context.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import { emailOf } from '../../identity/users/user.js'
import { postRefund } from '../../jobs/outbox/outbox.js'
import type { GiveUpRefund, SettleRefund } from '../../money/cards/charge.js'
import { amountText, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { hold, postHold, reverseHold } from '../../money/ledger/movement.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { billingEmails } from '../billing/profile.js'
import { type CheckoutChargeRow, checkoutCharges, openCharges, putCharge } from './charge.js'
import { recordCheckoutEvent, twinIdOf } from './checkout.js'
import { type CheckoutRow, checkoutSeller, checkouts, isUser, sellerIdOf } from './checkout-row.js'

export async function refundCharges(
  tx: Writer,
  checkout: CheckoutRow,
  service: Pick<ServiceContext, 'clock' | 'random'>,
): Promise<void> {
  for (const charge of await openCharges(tx, checkout))
    if (charge.status === 'charged') await refundCharge(tx, charge, checkout, service)
}

/** Holds the value of a charge in the checkout's twin and requests its refund. */
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
  await requestRefund(tx, { ...charge, movement_id: movement.id, refund_id }, checkout, at)
}

/** Sends a refund to the processor, or sends it again under the same id. */
export async function requestRefund(
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
    text: `${checkout.name}: ${shown} is refunded to the card.`,
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

/** Ends a refund: gives the value to the issuer, or keeps it in the checkout's twin if the processor refused. */
export const endCheckoutRefund: SettleRefund = async (tx, { id, result }, service) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding' || charge.movement_id === null) return
  const at = service.clock.now()
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  if (result.status === 'refunded') {
    await postHold(tx, charge.movement_id, at)
    putCharge(tx, { ...charge, status: 'refunded' })
    return recordCheckoutEvent(tx, 'refunded', checkout, { actor: 'service', payer: charge.payer, at })
  }
  await reverseHold(tx, charge.movement_id, at)
  const { reason } = result
  const refused: CheckoutChargeRow = { ...charge, status: 'unrefunded', movement_id: null, refusal: reason }
  putCharge(tx, refused)
  const data = { reason, charge_id: charge.charge_id, refund: charge.id }
  const event = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await recordCheckoutEvent(tx, 'refund_refused', checkout, { ...event, at, data })
  await mailUnrefunded(tx, refused, checkout, {
    why: `The card processor's reason: ${reason}.`,
    at,
    baseUrl: service.baseUrl,
  })
}

/**
 * Records that the outcome of a refund stays unknown. The value stays held, because a second refund under a new id
 * might pay twice.
 */
export const loseCheckoutRefund: GiveUpRefund = async (tx, { id, refundId }, { clock, baseUrl }) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding') return
  const lost: CheckoutChargeRow = { ...charge, status: 'refund_lost', refund_id: refundId }
  putCharge(tx, lost)
  const at = clock.now()
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  const data = { unknown_refund: refundId, charge_id: charge.charge_id, refund: charge.id }
  const event = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await recordCheckoutEvent(tx, 'refund_lost', checkout, { ...event, at, data })
  const why = 'The card processor did not confirm the refund.'
  await mailUnrefunded(tx, lost, checkout, { why, at, baseUrl })
}

const payersEmail = async (tx: Reader, { payer }: CheckoutChargeRow, { email }: CheckoutRow): Promise<string | null> =>
  (await emailOf(tx, payer)) ?? email

/** Whose address a payer's email is, if it is proven. A guest's was named by whoever made the link. */
const ownerOfEmail = ({ payer }: CheckoutChargeRow): Owner | null => (isUser(payer) ? payer : null)

/** Mails the payer, if their email is known, and the seller that a refund failed. */
export async function mailUnrefunded(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { why, at, baseUrl }: { why: string; at: number; baseUrl: string },
): Promise<void> {
  const shown = await amountText(tx, { dq: checkout.dq, amount: charge.amount })
  const what = `${quoted(checkout.name)}: ${shown}`
  const mail = { kind: 'refund', subject: `Refund of ${shown} failed`, ownLinks: baseUrl, at } as const
  const to = await payersEmail(tx, charge, checkout)
  const waits = 'farthing keeps the amount for you and has asked the seller to settle it.'
  const text = `${what} could not be refunded to your card. ${why} ${waits}`
  if (to !== null) await sendMail(tx, { ...mail, to, owner: ownerOfEmail(charge), text })
  const settle = `To settle it, call POST ${baseUrl}/v4/checkout/refunds/${charge.id}/settle. GET ${baseUrl}/v4/checkout/refunds lists all failed refunds.`
  const forSeller = `${what} could not be refunded to the payer's card. ${why} ${settle}`
  const sellerId = await sellerIdOf(tx, checkout)
  for (const each of await billingEmails(tx, sellerId))
    await sendMail(tx, { ...mail, to: each, owner: `account:${sellerId}`, text: forSeller })
}

/** Mails the payer, if their email is known, how the seller settled a refund. */
export async function mailSettled(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { how, at }: { readonly how: string; readonly at: number },
): Promise<void> {
  const to = await payersEmail(tx, charge, checkout)
  if (to === null) return
  const subject = `Refund of ${await amountText(tx, { dq: checkout.dq, amount: charge.amount })}`
  const text = `${quoted(checkout.name)}: ${how}`
  await sendMail(tx, { kind: 'refund', to, owner: ownerOfEmail(charge), subject, text, at })
}
