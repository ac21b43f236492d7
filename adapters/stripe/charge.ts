import type Stripe from 'stripe'
import type { CardCharge, CardRefund, CardToSave, ChargeResult, RefundResult, SaveResult } from '../../src/core.js'
import {
  AUTHENTICATION_REQUIRED,
  declineReason,
  expanded,
  isBreakdown,
  isDecline,
  isRefusal,
  refusalReason,
  savedCardName,
  shownCard,
  stripeAmount,
  stripeName,
  UNKNOWN_METHOD,
} from './card.js'

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
  if (amount === undefined) return declined('cards are not charged such an amount')
  const card = stripeName(charge)
  if (!card) return declined(UNKNOWN_METHOD)
  const known = await findIntent(stripe, charge.id)
  if (known) return intentResult(known) ?? confirm(stripe, known, charge)
  const created = await createIntent(stripe, charge, { amount, ...card }).catch((error: unknown) => {
    if (isRefusal(error)) return refused(error)
    throw error
  })
  return 'id' in created ? confirm(stripe, created, charge) : created
}

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
    const key = { idempotencyKey: `${charge.id}_confirm` }
    const confirmed = await stripe.paymentIntents.confirm(id, { off_session: true, expand }, key)
    return intentResult(confirmed) ?? unsettled(confirmed)
  } catch (error) {
    if (isDecline(error)) return declined(declineReason(error))
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
  if (status === 'requires_action') return declined(AUTHENTICATION_REQUIRED)
  if (status !== 'requires_confirmation' && status !== 'requires_payment_method') return unsettled(intent)
  return last_payment_error ? declined(declineReason(last_payment_error)) : undefined
}

const declined = (reason: string) => ({ status: 'declined', reason }) as const
const refused = (error: { code?: string; param?: string }) => declined(refusalReason(error))

function charged({ id, payment_method_details }: Stripe.Charge): ChargeResult {
  const card = payment_method_details?.card
  return { status: 'succeeded', charge_id: id, ...(card && { card: shownCard(card) }) }
}

function unsettled({ id, status }: Stripe.PaymentIntent): never {
  throw new Error(`Stripe: the PaymentIntent ${id} is ${status}`)
}

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

/** Saves a card with a Customer and a confirmed SetupIntent, so that the bank allows later charges, or declines it. */
export async function saveCard(stripe: Stripe, { id, payment_method_id }: CardToSave): Promise<SaveResult> {
  const metadata = { farthing_save: id }
  try {
    const customer = await stripe.customers.create({ metadata }, { idempotencyKey: `${id}_customer` })
    const intent = await stripe.setupIntents.create(
      {
        customer: customer.id,
        payment_method: payment_method_id,
        usage: 'off_session',
        confirm: true,
        // There is no page to return to.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        metadata,
        expand: ['payment_method'],
      },
      { idempotencyKey: id },
    )
    return setupResult(customer, intent)
  } catch (error) {
    if (isDecline(error)) return declined(declineReason(error))
    if (isRefusal(error)) return refused(error)
    throw error
  }
}

function setupResult({ id: customer }: Stripe.Customer, { status, payment_method }: Stripe.SetupIntent): SaveResult {
  if (status !== 'succeeded') return declined(AUTHENTICATION_REQUIRED)
  const { id, card } = expanded(payment_method, 'payment_method')
  if (!card) return declined('no card')
  return { status: 'saved', payment_method_id: savedCardName({ customer, payment_method: id }), card: shownCard(card) }
}
