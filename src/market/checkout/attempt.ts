import type { ServiceContext } from '../../http/context.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { heldCalls, settlePayment } from '../../payments/payments/held-payment.js'
import { allRows } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isPurchaseHeld } from '../purchases/purchase.js'
import { checkoutCharges, openCharges, putCharge } from './charge.js'
import {
  type CheckoutRow,
  checkoutOfTry,
  checkoutStatus,
  checkouts,
  isUser,
  type Payer,
  tellCheckout,
} from './checkout.js'
import { refundCharges } from './refund.js'

/** The kind of timer that looks after a try that should be over; its subject is the try's token. */
export const CHECKOUT_TRY_ENDS = 'checkout_try_ends'

/** How long past the longest charge and call a try may run. */
const GRACE_MS = 40_000

type Refunding = Pick<ServiceContext, 'clock' | 'random'>

/** How long a try may run at most. */
export const longestTry = ({ limits }: Pick<ServiceContext, 'limits'>): number =>
  limits.cardMs + limits.upstreamMs + GRACE_MS

/** Takes the checkout for a try, so that no other runs beside it. */
export async function beginTry(
  tx: Writer,
  checkout: CheckoutRow,
  attempt: string,
  service: Pick<ServiceContext, 'clock' | 'limits'>,
): Promise<CheckoutRow> {
  const now = service.clock.now()
  const trying: CheckoutRow = { ...checkout, status: 'paying', attempt, attempt_at: now, attempt_beat: 0 }
  tx.put(checkouts, trying)
  await setTimer(tx, { kind: CHECKOUT_TRY_ENDS, subject: attempt, at: now + longestTry(service) })
  return trying
}

/** A try that failed leaves the checkout unpaid; where its time is over, expired; and paying while a card may yet be charged. */
export async function endTry(tx: Writer, checkout: CheckoutRow, service: Refunding): Promise<void> {
  const charges = await openCharges(tx, checkout)
  const status = charges.some(({ status }) => status === 'pending') ? 'paying' : 'unpaid'
  const ended: CheckoutRow = { ...checkout, status, attempt: null, receipt_id: null }
  if (checkoutStatus(ended, service.clock.now()) === 'expired') await expire(tx, ended, service)
  else tx.put(checkouts, ended)
}

async function expire(tx: Writer, checkout: CheckoutRow, service: Refunding): Promise<void> {
  tx.put(checkouts, { ...checkout, status: 'expired' })
  await refundCharges(tx, checkout, service)
  await tellCheckout(tx, 'expired', checkout, { actor: 'service', at: service.clock.now() })
}

export interface PaidTry {
  /** Who paid from a wallet; by card, it is whoever the charge is by now: they may have signed in meanwhile. */
  readonly payer: Payer
  readonly receiptId: number
  /** Of the charge that paid, where a card did. */
  readonly chargeId: number | undefined
}

/** The try paid; what other cards were charged goes back to them. */
export async function endPaid(
  tx: Writer,
  checkout: CheckoutRow,
  { payer: began, receiptId, chargeId }: PaidTry,
  service: Refunding,
): Promise<CheckoutRow> {
  const charge = chargeId === undefined ? undefined : await tx.get(checkoutCharges, chargeId)
  const payer = charge?.payer ?? began
  const paid: CheckoutRow = { ...checkout, status: 'paid', attempt: null, receipt_id: receiptId, payer }
  tx.put(checkouts, paid)
  if (charge) putCharge(tx, { ...charge, status: 'spent' })
  await refundCharges(tx, paid, service)
  await tellCheckout(tx, 'paid', paid, { actor: isUser(payer) ? payer : 'guest', at: service.clock.now() })
  return paid
}

/** An unpaid checkout ends on time; one that is being tried, when that has failed. */
export const expireCheckout: TimerJob = async (tx, subject, service) => {
  const checkout = await tx.get(checkouts, Number(subject))
  if (checkout?.status === 'unpaid' && checkoutStatus(checkout, service.clock.now()) === 'expired')
    await expire(tx, checkout, service)
}

/** A try that nobody makes any more has failed, once the purchase that it began is reversed. */
export const endOverdueTry: TimerJob = async (tx, attempt, service) => {
  const checkout = await checkoutOfTry(tx, attempt)
  if (!checkout) return
  // A clock that was moved does not end a try that runs; as far as it was moved, it is not asked again at each step of it.
  const now = service.clock.now()
  const again = now + Math.max(GRACE_MS, now - (checkout.attempt_at ?? now))
  if (service.ongoing.has(attempt) || (await isHeld(tx, checkout)))
    await setTimer(tx, { kind: CHECKOUT_TRY_ENDS, subject: attempt, at: again })
  else await endTry(tx, checkout, service)
}

/** Ends the tries that are not made here, where nobody else makes any and their purchases are reversed. */
export async function endAbandonedTries(tx: Writer, service: Refunding & Pick<ServiceContext, 'ongoing'>) {
  for await (const checkout of allRows(tx, checkouts, { index: 'byAttempt', prefix: [] }))
    if (checkout.attempt !== null && !service.ongoing.has(checkout.attempt) && !(await isHeld(tx, checkout)))
      await endTry(tx, checkout, service)
}

/** Whether the purchase that a try began is not settled yet. */
const isHeld = async (tx: Reader, { receipt_id }: CheckoutRow): Promise<boolean> =>
  receipt_id !== null && isPurchaseHeld(tx, receipt_id)

/** Ends a try whose process is gone, with the purchase that it began: should it live after all, it finds both taken back. */
export async function endDeadTry(
  tx: Writer,
  { attempt, attempt_beat }: Pick<CheckoutRow, 'attempt' | 'attempt_beat'>,
  service: Refunding,
): Promise<void> {
  const checkout = attempt === null ? undefined : await checkoutOfTry(tx, attempt)
  if (!checkout || checkout.attempt_beat !== attempt_beat) return
  const call = checkout.receipt_id === null ? undefined : await tx.get(heldCalls, checkout.receipt_id)
  if (call) await settlePayment(tx, call, { status: 'reversed', at: service.clock.now() })
  await endTry(tx, checkout, service)
}
