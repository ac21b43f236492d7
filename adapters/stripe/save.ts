import type Stripe from 'stripe'
import type { CardToSave, SaveResult } from '../../src/core.js'
import { expanded, savedCardName, shownCard } from './card.js'
import { AUTHENTICATION_REQUIRED, declineReason, isDecline, isRefusal, refusalReason } from './failure.js'

/**
 * Saves a card with Stripe: creates a Customer for it, and confirms a SetupIntent so that the bank allows later charges.
 * Declines a card whose bank wants to ask the cardholder first.
 */
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
    if (isDecline(error)) return { status: 'declined', reason: declineReason(error) }
    if (isRefusal(error)) return { status: 'declined', reason: refusalReason(error) }
    throw error
  }
}

function setupResult({ id: customer }: Stripe.Customer, { status, payment_method }: Stripe.SetupIntent): SaveResult {
  if (status !== 'succeeded') return { status: 'declined', reason: AUTHENTICATION_REQUIRED }
  const { id, card } = expanded(payment_method, 'payment_method')
  if (!card) return { status: 'declined', reason: 'no card' }
  return { status: 'saved', payment_method_id: savedCardName({ customer, payment_method: id }), card: shownCard(card) }
}
