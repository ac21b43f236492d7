import Stripe from 'stripe'

const { StripeError, StripeInvalidRequestError } = Stripe.errors

/** Stripe asks that whoever pays is told no other reason: it might help who has stolen a card. */
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

/** Why a card was declined, by what Stripe says of it. */
export function declineReason({ code, decline_code }: { code?: string; decline_code?: string }): string {
  const told = [decline_code, code].find((each) => each !== undefined && SHOWN_CODES.has(each))
  return told ? inWords(told) : 'declined by the bank'
}

/** The card's bank says no. */
export const isDecline = (error: unknown): error is Stripe.errors.StripeCardError =>
  error instanceof StripeError && error.rawType === 'card_error'

/** Stripe does not do what it was asked, nor would it when asked again: nothing has come of it. */
export const isRefusal = (error: unknown): error is Stripe.errors.StripeInvalidRequestError =>
  error instanceof StripeInvalidRequestError

/** Why a card is declined that Stripe does not have. */
export const UNKNOWN_METHOD = 'unknown payment method'

export function refusalReason({ code, param }: { code?: string; param?: string }): string {
  if (code === 'resource_missing' && param === 'payment_method') return UNKNOWN_METHOD
  return code ? `refused by Stripe, ${inWords(code)}` : 'refused by Stripe'
}

/** Its bank would ask the card's holder. */
export const AUTHENTICATION_REQUIRED = 'authentication required'

const inWords = (code: string): string => code.replaceAll('_', ' ')

/** Stripe failed at what it was asked, and answers the same for as long as it keeps the idempotency key. */
export const isBreakdown = (error: unknown): boolean => error instanceof StripeError && (error.statusCode ?? 0) >= 500

/** Stripe's own errors hold whole objects, with cards and client secrets: what is rejected with is logged. */
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
  return `${message} (${facts})`.replace(/\b[sr]k_\w*[\w*]+|\w+_secret_\w+/g, '…')
}
