import type Stripe from 'stripe'
import type { CardRefund, RefundResult } from '../../src/core.js'
import { stripeAmount } from './card.js'
import { isRefusal, refusalReason } from './failure.js'

/** Errors that pass: when the account has money again, or when Stripe lists a refund that someone has just created by hand. */
const PASSING = ['balance_insufficient', 'insufficient_funds', 'charge_already_refunded']

/**
 * Refunds a charge once for each id. It lists the charge's refunds before it creates one, so that it also works after Stripe
 * has forgotten the idempotency key. The key prevents a second refund if two tries run at once.
 * Refunds by hand count: if they add up to the amount, nothing more is refunded.
 */
export async function refundCharge(stripe: Stripe, refund: CardRefund): Promise<RefundResult> {
  const amount = stripeAmount(refund)
  if (amount === undefined) return { status: 'refused', reason: 'cards are not refunded such an amount' }
  try {
    const { data } = await stripe.refunds.list({ charge: refund.charge_id, limit: 100 })
    const earlier = data.find(({ metadata }) => metadata?.farthing_refund === refund.id) ?? allGiven(data, amount)
    return refundResult(earlier ?? (await createRefund(stripe, refund, amount)))
  } catch (error) {
    if (!isRefusal(error) || PASSING.includes(error.code ?? '')) throw error
    return { status: 'refused', reason: refusalReason(error) }
  }
}

/** The newest refund, if all refunds together reach the amount. */
function allGiven(refunds: readonly Stripe.Refund[], amount: number): Stripe.Refund | undefined {
  const given = refunds.filter(isGiven)
  return given.reduce((sum, each) => sum + each.amount, 0) >= amount ? given[0] : undefined
}

const createRefund = (stripe: Stripe, { id, charge_id }: CardRefund, amount: number): Promise<Stripe.Refund> =>
  stripe.refunds.create({ charge: charge_id, amount, metadata: { farthing_refund: id } }, { idempotencyKey: id })

/** A pending refund counts too: it is on its way. */
const isGiven = ({ status }: Stripe.Refund): boolean => status === 'succeeded' || status === 'pending'

function refundResult(refund: Stripe.Refund): RefundResult {
  if (isGiven(refund)) return { status: 'refunded', refund_id: refund.id }
  return { status: 'refused', reason: (refund.failure_reason ?? `refund ${refund.status}`).replaceAll('_', ' ') }
}
