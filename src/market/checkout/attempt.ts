import { isAhead } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { FlowClaims } from '../../jobs/flows/flow.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { heldCalls, reversePayment } from '../../payments/payments/held-payment.js'
import { allRows } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { checkoutCharges, openCharges, putCharge } from './charge.js'
import { checkoutStatus, recordCheckoutEvent } from './checkout.js'
import {
  CHECKOUT_ATTEMPT_ENDS,
  CHECKOUT_EXPIRES,
  type CheckoutRow,
  checkoutOfAttempt,
  checkouts,
  isUser,
  type Payer,
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

/**
 * Ends a successful attempt. Refunds other cards that were charged. `payer`: whoever paid from a wallet. A charge names
 * its payer, who may have signed in since.
 */
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
