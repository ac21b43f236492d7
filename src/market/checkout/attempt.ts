import type { ServiceContext } from '../../http/context.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { heldCalls, settlePayment } from '../../payments/payments/held-payment.js'
import { allRows } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isPurchaseHeld } from '../purchases/purchase.js'
import { checkoutCharges, openCharges, putCharge } from './charge.js'
import {
  type CheckoutRow,
  checkoutOfAttempt,
  checkoutStatus,
  checkouts,
  isUser,
  type Payer,
  recordCheckoutEvent,
} from './checkout.js'
import { refundCharges } from './refund.js'

/** Kind of the timer for an attempt that should have ended. Its subject is the attempt's token. */
export const CHECKOUT_ATTEMPT_ENDS = 'checkout_try_ends'

/** How long past the longest charge and call an attempt may run. */
const GRACE_MS = 40_000

type Refunding = Pick<ServiceContext, 'clock' | 'random'>

/** Longest time that an attempt may run, in milliseconds. */
export const maxAttemptMs = ({ limits }: Pick<ServiceContext, 'limits'>): number =>
  limits.cardMs + limits.upstreamMs + GRACE_MS

/** Starts an attempt. No other attempt runs at the same time. */
export async function beginAttempt(
  tx: Writer,
  checkout: CheckoutRow,
  attempt: string,
  service: Pick<ServiceContext, 'clock' | 'limits'>,
): Promise<CheckoutRow> {
  const now = service.clock.now()
  const attempted: CheckoutRow = { ...checkout, status: 'paying', attempt, attempt_at: now, attempt_beat: 0 }
  tx.put(checkouts, attempted)
  await setTimer(tx, { kind: CHECKOUT_ATTEMPT_ENDS, subject: attempt, at: now + maxAttemptMs(service) })
  return attempted
}

/**
 * Ends a failed attempt. The checkout is unpaid again, or expired, or still paying while the outcome of a charge is
 * unknown.
 */
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

export interface SuccessfulAttempt {
  /** Whoever paid from a wallet. After a charge, the charge names the payer, who may have signed in since. */
  readonly payer: Payer
  readonly receiptId: number
  /** The charge that paid. Undefined: a wallet paid. */
  readonly chargeId: number | undefined
}

/** Ends a successful attempt. Refunds other cards that were charged. */
export async function endPaidAttempt(
  tx: Writer,
  checkout: CheckoutRow,
  { payer: began, receiptId, chargeId }: SuccessfulAttempt,
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

/** Expires an unpaid checkout. A checkout that is being paid expires when its attempt fails. */
export const expireCheckout: TimerJob = async (tx, subject, service) => {
  const checkout = await tx.get(checkouts, Number(subject))
  if (checkout?.status === 'unpaid' && checkoutStatus(checkout, service.clock.now()) === 'expired')
    await expire(tx, checkout, service)
}

/** Ends an attempt that takes too long, once its purchase is reversed. */
export const endOverdueAttempt: TimerJob = async (tx, attempt, service) => {
  const checkout = await checkoutOfAttempt(tx, attempt)
  if (!checkout) return
  // A sandbox's clock may jump, so a running attempt continues. The delay grows with the jump, to set few timers.
  const now = service.clock.now()
  const retryAt = now + Math.max(GRACE_MS, now - (checkout.attempt_at ?? now))
  if (service.ongoing.has(attempt) || (await isHeld(tx, checkout)))
    await setTimer(tx, { kind: CHECKOUT_ATTEMPT_ENDS, subject: attempt, at: retryAt })
  else await endAttempt(tx, checkout, service)
}

/** Ends attempts of processes that are gone, once their purchases are reversed. */
export async function endAbandonedAttempts(tx: Writer, service: Refunding & Pick<ServiceContext, 'ongoing'>) {
  for await (const checkout of allRows(tx, checkouts, { index: 'byAttempt', prefix: [] }))
    if (checkout.attempt !== null && !service.ongoing.has(checkout.attempt) && !(await isHeld(tx, checkout)))
      await endAttempt(tx, checkout, service)
}

/** Whether the purchase of an attempt is not settled yet. */
const isHeld = async (tx: Reader, { receipt_id }: CheckoutRow): Promise<boolean> =>
  receipt_id !== null && isPurchaseHeld(tx, receipt_id)

/**
 * Ends the attempt of a process that is gone, and reverses its purchase. If the process continues after all, it finds
 * both ended.
 */
export async function endDeadAttempt(
  tx: Writer,
  { attempt, attempt_beat }: Pick<CheckoutRow, 'attempt' | 'attempt_beat'>,
  service: Refunding,
): Promise<void> {
  const checkout = attempt === null ? undefined : await checkoutOfAttempt(tx, attempt)
  if (!checkout || checkout.attempt_beat !== attempt_beat) return
  const call = checkout.receipt_id === null ? undefined : await tx.get(heldCalls, checkout.receipt_id)
  if (call) await settlePayment(tx, call, { status: 'reversed', at: service.clock.now() })
  await endAttempt(tx, checkout, service)
}
