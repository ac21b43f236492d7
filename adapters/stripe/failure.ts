import Stripe from 'stripe'

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

/** Why a card was declined, in words for the payer. */
export function declineReason({ code, decline_code }: { code?: string; decline_code?: string }): string {
  const told = [decline_code, code].find((each) => each !== undefined && SHOWN_CODES.has(each))
  return told ? inWords(told) : 'declined by the bank'
}

/** Whether the card was declined. */
export const isDecline = (error: unknown): error is Stripe.errors.StripeCardError =>
  error instanceof StripeError && error.rawType === 'card_error'

/** Whether Stripe refused an invalid request. Nothing happened, and a retry would be refused too. */
export const isRefusal = (error: unknown): error is Stripe.errors.StripeInvalidRequestError =>
  error instanceof StripeInvalidRequestError

/** The reason for declining a card that Stripe does not know. */
export const UNKNOWN_METHOD = 'unknown payment method'

export function refusalReason({ code, param }: { code?: string; param?: string }): string {
  if (code === 'resource_missing' && param === 'payment_method') return UNKNOWN_METHOD
  return code ? `refused by Stripe, ${inWords(code)}` : 'refused by Stripe'
}

/** The reason for declining a card whose bank wants to ask the cardholder. */
export const AUTHENTICATION_REQUIRED = 'authentication required'

const inWords = (code: string): string => code.replaceAll('_', ' ')

/** Whether Stripe itself failed. It then repeats that answer for as long as it remembers the idempotency key. */
export const isBreakdown = (error: unknown): boolean => error instanceof StripeError && (error.statusCode ?? 0) >= 500

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
