import type Stripe from 'stripe'
import type { CardCharge, ChargeResult } from '../../src/core.js'
import { expanded, shownCard, stripeAmount, stripeName } from './card.js'
import {
  AUTHENTICATION_REQUIRED,
  declineReason,
  isBreakdown,
  isDecline,
  isRefusal,
  refusalReason,
  UNKNOWN_METHOD,
} from './failure.js'

/** The charge of a PaymentIntent. It describes the card. */
const expand = ['latest_charge']

/**
 * Charges a card once for each id, with one PaymentIntent. A PaymentIntent succeeds at most once, and stores its result.
 * A later try must find the same PaymentIntent:
 *
 * - In the first 24 hours, by the idempotency key: creating it again returns the same one.
 * - Later, by the id in its metadata. Stripe's search lags by an hour at most, so the two overlap by 23 hours.
 *
 * It is created unconfirmed, which charges nothing, and then confirmed. Rejects if Stripe does not answer or says to retry later.
 * If Stripe fails or refuses during the confirmation, this reads the PaymentIntent, and cancels it if it has no result. A
 * PaymentIntent that is `unavailable` can never charge the card.
 */
export async function chargeCard(stripe: Stripe, charge: CardCharge): Promise<ChargeResult> {
  const amount = stripeAmount(charge)
  if (amount === undefined) return { status: 'declined', reason: 'cards are not charged such an amount' }
  const card = stripeName(charge)
  if (!card) return { status: 'declined', reason: UNKNOWN_METHOD }
  const known = await findIntent(stripe, charge.id)
  if (known) return intentResult(known) ?? confirm(stripe, known, charge)
  const created = await createIntent(stripe, charge, { amount, ...card }).catch((error: unknown) => {
    if (isRefusal(error)) return refused(error)
    throw error
  })
  return 'id' in created ? confirm(stripe, created, charge) : created
}

/** Reads the current PaymentIntent of an earlier try, if there was one. */
async function findIntent(stripe: Stripe, id: string): Promise<Stripe.PaymentIntent | undefined> {
  const query = `metadata["farthing_charge"]:"${id.replace(/["\\]/g, '\\$&')}"`
  const { data } = await stripe.paymentIntents.search({ query })
  // The search ignores case, and its results may be out of date.
  const found = data.find(({ metadata }) => metadata.farthing_charge === id)
  return found && stripe.paymentIntents.retrieve(found.id, { expand })
}

const createIntent = (
  stripe: Stripe,
  charge: CardCharge,
  what: { amount: number; payment_method: string; customer?: string },
): Promise<Stripe.PaymentIntent> =>
  stripe.paymentIntents.create(
    {
      ...what,
      currency: charge.currency.toLowerCase(),
      allowed_payment_method_types: ['card'],
      description: charge.description,
      metadata: { farthing_charge: charge.id },
    },
    { idempotencyKey: charge.id },
  )

async function confirm(stripe: Stripe, { id }: Stripe.PaymentIntent, charge: CardCharge): Promise<ChargeResult> {
  try {
    // The bank cannot ask anybody: Stripe declines a card that needs authentication.
    const confirmed = await stripe.paymentIntents.confirm(
      id,
      { off_session: true, expand },
      { idempotencyKey: `${charge.id}_confirm` },
    )
    return intentResult(confirmed) ?? unsettled(confirmed)
  } catch (error) {
    if (isDecline(error)) return { status: 'declined', reason: declineReason(error) }
    const isRefused = isRefusal(error)
    if (!isRefused && !isBreakdown(error)) throw error
    const now = await stripe.paymentIntents.retrieve(id, { expand })
    const result = intentResult(now)
    if (result) return result
    const cancelled = await stripe.paymentIntents.cancel(id, isRefused ? { cancellation_reason: REFUSED } : {})
    return isRefused ? refused(error) : (intentResult(cancelled) ?? unsettled(cancelled))
  }
}

/** The reason sent when a PaymentIntent is cancelled because Stripe refuses to confirm it. Stripe accepts only a few values. */
const REFUSED = 'abandoned'

/** The result of a PaymentIntent. Undefined if it is not confirmed yet. */
function intentResult(intent: Stripe.PaymentIntent): ChargeResult | undefined {
  const { status, last_payment_error, cancellation_reason } = intent
  if (status === 'succeeded') return charged(expanded(intent.latest_charge, 'latest_charge'))
  if (status === 'canceled') return cancellation_reason === REFUSED ? refused({}) : { status: 'unavailable' }
  // Nobody gets the client secret that is needed to answer the bank.
  if (status === 'requires_action') return { status: 'declined', reason: AUTHENTICATION_REQUIRED }
  if (status !== 'requires_confirmation' && status !== 'requires_payment_method') return unsettled(intent)
  return last_payment_error ? { status: 'declined', reason: declineReason(last_payment_error) } : undefined
}

const refused = (error: { code?: string; param?: string }): ChargeResult => ({
  status: 'declined',
  reason: refusalReason(error),
})

function charged({ id, payment_method_details }: Stripe.Charge): ChargeResult {
  const card = payment_method_details?.card
  return { status: 'succeeded', charge_id: id, ...(card && { card: shownCard(card) }) }
}

function unsettled({ id, status }: Stripe.PaymentIntent): never {
  throw new Error(`Stripe: the PaymentIntent ${id} is ${status}`)
}
