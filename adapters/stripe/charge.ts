import type Stripe from 'stripe'
import type { CardCharge, ChargeResult } from '../../src/core.js'
import { stripeAmount } from './amount.js'
import { shownCard, stripeName } from './card.js'
import { expanded } from './expanded.js'
import {
  AUTHENTICATION_REQUIRED,
  declineReason,
  isBreakdown,
  isDecline,
  isRefusal,
  refusalReason,
  UNKNOWN_METHOD,
} from './failure.js'

/** What the charge made of a PaymentIntent says about the card. */
const expand = ['latest_charge']

/**
 * Charges once for each id, by one PaymentIntent: Stripe lets each succeed once, and what came of it can be read there ever after.
 * So all that matters is to find it again:
 *
 * - In its first 24 hours by the idempotency key: creating it again gives the same one.
 * - Later by the id in its metadata. Stripe's search lags behind by an hour at most, and the key is good for 23 more.
 *
 * It is created unconfirmed, which charges nothing, and then confirmed. Where Stripe does not answer, or asks to be asked later, this
 * rejects. Where Stripe breaks down as it confirms, the PaymentIntent says what came of that, and is cancelled where nothing did: of one
 * that is `unavailable` nothing can come any more.
 */
export async function chargeCard(stripe: Stripe, charge: CardCharge): Promise<ChargeResult> {
  const amount = stripeAmount(charge)
  if (amount === undefined) return { status: 'declined', reason: 'cards are not charged such an amount' }
  const card = stripeName(charge)
  if (!card) return { status: 'declined', reason: UNKNOWN_METHOD }
  const known = await findIntent(stripe, charge.id)
  if (known) return resultOf(known) ?? confirm(stripe, known, charge)
  const created = await createIntent(stripe, charge, { amount, ...card }).catch((error: unknown) => {
    if (isRefusal(error)) return refused(error)
    throw error
  })
  return 'id' in created ? confirm(stripe, created, charge) : created
}

/** The PaymentIntent of an earlier try, as it is now. */
async function findIntent(stripe: Stripe, id: string): Promise<Stripe.PaymentIntent | undefined> {
  const query = `metadata["farthing_charge"]:"${id.replace(/["\\]/g, '\\$&')}"`
  const { data } = await stripe.paymentIntents.search({ query })
  // The search takes upper and lower case for the same, and gives what it saw some time ago.
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
    // Nobody is there whom the bank could ask: a card that needs that is declined.
    const confirmed = await stripe.paymentIntents.confirm(
      id,
      { off_session: true, expand },
      { idempotencyKey: `${charge.id}_confirm` },
    )
    return resultOf(confirmed) ?? unsettled(confirmed)
  } catch (error) {
    if (isDecline(error)) return { status: 'declined', reason: declineReason(error) }
    const isRefused = isRefusal(error)
    if (!isRefused && !isBreakdown(error)) throw error
    const now = await stripe.paymentIntents.retrieve(id, { expand })
    const result = resultOf(now)
    if (result) return result
    const cancelled = await stripe.paymentIntents.cancel(id, isRefused ? { cancellation_reason: REFUSED } : {})
    return isRefused ? refused(error) : (resultOf(cancelled) ?? unsettled(cancelled))
  }
}

/** Why a PaymentIntent is cancelled that Stripe refuses to confirm, of what Stripe lets one say. */
const REFUSED = 'abandoned'

/** What came of a PaymentIntent; undefined for one that is yet to be confirmed. */
function resultOf(intent: Stripe.PaymentIntent): ChargeResult | undefined {
  const { status, last_payment_error, cancellation_reason } = intent
  if (status === 'succeeded') return charged(expanded(intent.latest_charge, 'latest_charge'))
  if (status === 'canceled') return cancellation_reason === REFUSED ? refused({}) : { status: 'unavailable' }
  // Nobody is given the secret by which the bank would be answered.
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
