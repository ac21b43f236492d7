import type Stripe from 'stripe'
import type { CardRefund, RefundResult } from '../../src/core.js'
import { stripeAmount } from './amount.js'
import { isRefusal, refusalReason } from './failure.js'

/** These pass: once there is money on the account, or once the refund is listed that somebody has just made by hand. */
const PASSING = ['balance_insufficient', 'insufficient_funds', 'charge_already_refunded']

/**
 * Gives a charge back once for each id. The refunds of a charge are listed before another is made, as they are at that moment, so
 * that nothing depends on how long Stripe keeps an idempotency key; that one guards two tries at once.
 * A charge is refunded too of which somebody has given that much back by hand.
 */
export async function refundCharge(stripe: Stripe, refund: CardRefund): Promise<RefundResult> {
  const amount = stripeAmount(refund)
  if (amount === undefined) return { status: 'refused', reason: 'cards are not refunded such an amount' }
  try {
    const { data } = await stripe.refunds.list({ charge: refund.charge_id, limit: 100 })
    const earlier = data.find(({ metadata }) => metadata?.farthing_refund === refund.id) ?? allGiven(data, amount)
    return resultOf(earlier ?? (await createRefund(stripe, refund, amount)))
  } catch (error) {
    if (!isRefusal(error) || PASSING.includes(error.code ?? '')) throw error
    return { status: 'refused', reason: refusalReason(error) }
  }
}

/** The last of the refunds that give back as much as that. */
function allGiven(refunds: readonly Stripe.Refund[], amount: number): Stripe.Refund | undefined {
  const given = refunds.filter(isGiven)
  return given.reduce((sum, each) => sum + each.amount, 0) >= amount ? given[0] : undefined
}

const createRefund = (stripe: Stripe, { id, charge_id }: CardRefund, amount: number): Promise<Stripe.Refund> =>
  stripe.refunds.create({ charge: charge_id, amount, metadata: { farthing_refund: id } }, { idempotencyKey: id })

/** One that is pending is on its way. */
const isGiven = ({ status }: Stripe.Refund): boolean => status === 'succeeded' || status === 'pending'

function resultOf(refund: Stripe.Refund): RefundResult {
  if (isGiven(refund)) return { status: 'refunded', refund_id: refund.id }
  return { status: 'refused', reason: (refund.failure_reason ?? `refund ${refund.status}`).replaceAll('_', ' ') }
}
