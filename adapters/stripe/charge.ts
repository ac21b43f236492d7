import Stripe from 'stripe'
import type {
  CardCharge,
  CardRefund,
  CardToSave,
  ChargedCard,
  ChargeResult,
  RefundResult,
  SaveResult,
} from '../../src/core.js'

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

/** The port's name for a saved card. It includes the Customer, because Stripe charges a saved card only with its Customer. */
const savedCardName = ({ customer, payment_method }: { customer: string; payment_method: string }): string =>
  `${customer}:${payment_method}`

/** Turns the port's name of a card into Stripe's parameters. Undefined if the name does not fit `on_file`. */
function stripeName({
  payment_method_id: name,
  on_file,
}: CardCharge): { payment_method: string; customer?: string } | undefined {
  const [, customer, payment_method] = /^(cus_\w+):(\w+)$/.exec(name) ?? []
  if (on_file) return customer && payment_method ? { customer, payment_method } : undefined
  return /^\w+$/.test(name) ? { payment_method: name } : undefined
}

type StripeCard = Pick<ChargedCard, 'exp_month' | 'exp_year'> & { brand: string | null; last4: string | null }

const shownCard = ({ brand, last4, exp_month, exp_year }: StripeCard): ChargedCard => ({
  ...{ brand: brand ?? 'card', last4: last4 ?? '', exp_month, exp_year },
})

/** Stripe counts these in whole units. */
const WHOLE = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
/** Stripe counts these in thousandths, and charges cards in multiples of ten. */
const THOUSANDTHS = new Set('BHD JOD KWD OMR TND'.split(' '))
/** Stripe counts these in hundredths, and charges cards in multiples of a hundred. */
const WHOLE_IN_HUNDREDTHS = new Set(['ISK', 'UGX'])

/** Returns an amount in the unit that Stripe counts in. Undefined if a card cannot be charged exactly that amount. */
function stripeAmount({
  amount,
  decimals,
  currency,
}: Pick<CardCharge, 'amount' | 'decimals' | 'currency'>): number | undefined {
  if (!/^\d+$/.test(amount)) return undefined
  const code = currency.toUpperCase()
  const one = 10n ** BigInt(decimals)
  const counted = BigInt(amount) * (WHOLE.has(code) ? 1n : THOUSANDTHS.has(code) ? 1000n : 100n)
  const step = THOUSANDTHS.has(code) ? 10n : WHOLE_IN_HUNDREDTHS.has(code) ? 100n : 1n
  const units = counted / one
  const isExact = counted % one === 0n && units % step === 0n
  return isExact && units > 0n && units <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(units) : undefined
}

/** Returns a part of a Stripe object that the request expanded. Throws if Stripe sent only its id, or nothing. */
function expanded<Part extends object>(part: Part | string | null | undefined, name: string): Part {
  if (typeof part !== 'object' || part === null) throw new Error(`Stripe: ${name} was not expanded`)
  return part
}

const { StripeError, StripeInvalidRequestError } = Stripe.errors

/** The reasons that a payer may see. Stripe advises to hide all others, because they could help a card thief. */
const SHOWN_CODES = new Set([
  'authentication_required',
  'card_not_supported',
  'card_velocity_exceeded',
  'currency_not_supported',
  'expired_card',
  'incorrect_cvc',
  'insufficient_funds',
  'processing_error',
])

function declineReason({ code, decline_code }: { code?: string; decline_code?: string }): string {
  const told = [decline_code, code].find((each) => each !== undefined && SHOWN_CODES.has(each))
  return told ? inWords(told) : 'declined by the bank'
}

const isDecline = (error: unknown): error is Stripe.errors.StripeCardError =>
  error instanceof StripeError && error.rawType === 'card_error'

/** Whether Stripe refused an invalid request. Nothing happened, and a retry would be refused too. */
const isRefusal = (error: unknown): error is Stripe.errors.StripeInvalidRequestError =>
  error instanceof StripeInvalidRequestError

const UNKNOWN_METHOD = 'unknown payment method'

function refusalReason({ code, param }: { code?: string; param?: string }): string {
  if (code === 'resource_missing' && param === 'payment_method') return UNKNOWN_METHOD
  return code ? `refused by Stripe, ${inWords(code)}` : 'refused by Stripe'
}

const AUTHENTICATION_REQUIRED = 'authentication required'
const inWords = (code: string): string => code.replaceAll('_', ' ')

/** Whether Stripe itself failed. It then repeats that answer for as long as it remembers the idempotency key. */
const isBreakdown = (error: unknown): boolean => error instanceof StripeError && (error.statusCode ?? 0) >= 500

/** Replaces Stripe's errors by safe ones. Errors are logged, and Stripe's contain card data and client secrets. */
export async function safely<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof StripeError ? new Error(`Stripe: ${told(error)}`) : error
  }
}

const hasCode = (detail: unknown): detail is { readonly code: unknown } =>
  typeof detail === 'object' && detail !== null && 'code' in detail

function told({ type, statusCode, code, message, requestId, detail }: Stripe.errors.StripeError): string {
  const cause = hasCode(detail) ? detail.code : undefined
  const request = requestId ? `request ${requestId}` : undefined
  const facts = [type, statusCode, code, cause, request].filter((fact) => fact !== undefined).join(', ')
  return `${message} (${facts})`.replace(/\b[sr]k_[\w*]+|\b\w+_secret_\w+/g, '…')
}
