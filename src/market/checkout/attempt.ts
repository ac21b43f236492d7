import type { CardRow, CardSubject } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import { isAhead } from '../../base/time.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { emailOf, networkAt, responsibleFor } from '../../identity/users/user.js'
import type { FlowClaims } from '../../jobs/flows/flow.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { checkProcessor, type GiveUpCharge, isChargeable, type SettleCharge } from '../../money/cards/charge.js'
import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText } from '../../money/ledger/amount.js'
import { createTwin, type TwinContext, type TwinRow, twins } from '../../money/twins/twin.js'
import { heldCalls, reversePayment } from '../../payments/payments/held-payment.js'
import { type ChargeOrder, createPendingPayment, loseTopup, settleTopup } from '../../payments/topups/topup.js'
import { allRows, getExisting } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { checkoutStatus, recordCheckoutEvent } from './checkout.js'
import {
  CHECKOUT_ATTEMPT_ENDS,
  CHECKOUT_EXPIRES,
  type CheckoutRow,
  checkoutCharges,
  checkoutOfAttempt,
  checkoutSeller,
  checkouts,
  isUser,
  openCharges,
  type Payer,
  putCharge,
  sellerIdOf,
} from './checkout-row.js'
import { type Refunding, refundCharges } from './refund.js'

/** How long past the longest charge and call an attempt may run. */
const GRACE_MS = 40_000

export async function beginAttempt(
  tx: Writer,
  checkout: CheckoutRow,
  attempt: string,
  service: Pick<ServiceContext, 'clock' | 'limits'>,
): Promise<CheckoutRow> {
  const now = service.clock.now()
  const attempted: CheckoutRow = { ...checkout, status: 'paying', attempt, attempt_at: now }
  tx.put(checkouts, attempted)
  const { timer: kind, longestMs } = checkoutAttempts
  await setTimer(tx, { kind, subject: attempt, at: now + longestMs(service), now })
  return attempted
}

/** Ends a failed attempt: unpaid again, or expired, or still paying while the outcome of a charge is unknown. */
export async function endAttempt(tx: Writer, checkout: CheckoutRow, service: Refunding): Promise<void> {
  const charges = await openCharges(tx, checkout)
  const status = charges.some(({ status }) => status === 'pending') ? 'paying' : 'unpaid'
  const ended: CheckoutRow = { ...checkout, status, attempt: null, receipt_id: null }
  if (checkoutStatus(ended, service.clock.now()) === 'expired') await expire(tx, ended, service)
  else tx.put(checkouts, ended)
}

async function expire(tx: Writer, checkout: CheckoutRow, service: Refunding): Promise<void> {
  tx.put(checkouts, { ...checkout, status: 'expired' })
  await refundCharges(tx, checkout, service)
  await recordCheckoutEvent(tx, 'expired', checkout, { actor: 'service', at: service.clock.now() })
}

/** Ends a successful attempt, and refunds other charged cards. A charge names its payer, who may have signed in since. */
export async function endPaidAttempt(
  tx: Writer,
  checkout: CheckoutRow,
  { payer: began, receiptId, chargeId }: { payer: Payer; receiptId: number; chargeId: number | undefined },
  service: Refunding,
): Promise<CheckoutRow> {
  const charge = chargeId === undefined ? undefined : await tx.get(checkoutCharges, chargeId)
  const payer = charge?.payer ?? began
  const paid: CheckoutRow = { ...checkout, status: 'paid', attempt: null, receipt_id: receiptId, payer }
  tx.put(checkouts, paid)
  if (charge) putCharge(tx, { ...charge, status: 'spent' })
  await refundCharges(tx, paid, service)
  await recordCheckoutEvent(tx, 'paid', paid, { actor: isUser(payer) ? payer : 'guest', at: service.clock.now() })
  return paid
}

export const expireCheckout: TimerJob = async (tx, subject, service) => {
  const checkout = await tx.get(checkouts, Number(subject))
  if (checkout?.status !== 'unpaid') return
  const at = service.clock.now()
  const { created_at, expires_at } = checkout
  // The clock was moved, and this timer with it.
  if (expires_at > at && !isAhead(created_at, at))
    await setTimer(tx, { kind: CHECKOUT_EXPIRES, subject, at: expires_at, now: at })
  else await expire(tx, checkout, service)
}

export const checkoutAttempts: FlowClaims<CheckoutRow> = {
  timer: CHECKOUT_ATTEMPT_ENDS,
  longestMs: ({ limits }) => limits.cardMs + limits.upstreamMs + GRACE_MS,
  find: checkoutOfAttempt,
  all: (tx) => allRows(tx, checkouts, { index: 'byAttempt', prefix: [] }),
  tokenOf: ({ attempt }) => attempt,
  claimedAt: async (_tx, { attempt_at, created_at }) => attempt_at ?? created_at,
  end: abandonAttempt,
}

/** Ends an attempt that failed, or whose process is gone. Reverses its purchase. */
export async function abandonAttempt(tx: Writer, checkout: CheckoutRow | undefined, service: Refunding): Promise<void> {
  if (!checkout) return
  const call = checkout.receipt_id === null ? undefined : await tx.get(heldCalls, checkout.receipt_id)
  if (call) await reversePayment(tx, call, service)
  await endAttempt(tx, checkout, service)
}

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

/** Issues the charged value to the checkout's twin. If no request waits for it, the payer can pay with it, or is refunded. */
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
