import Stripe from 'stripe'
import type { CardCharge, ChargedCard } from '../../src/core.js'

/** The port's name for a saved card. It includes the Customer, because Stripe charges a saved card only with its Customer. */
export const savedCardName = ({ customer, payment_method }: { customer: string; payment_method: string }): string =>
  `${customer}:${payment_method}`

/** Turns the port's name of a card into Stripe's parameters. Undefined if the name does not fit `on_file`. */
export function stripeName({
  payment_method_id: name,
  on_file,
}: CardCharge): { payment_method: string; customer?: string } | undefined {
  const [, customer, payment_method] = /^(cus_\w+):(\w+)$/.exec(name) ?? []
  if (on_file) return customer && payment_method ? { customer, payment_method } : undefined
  return /^\w+$/.test(name) ? { payment_method: name } : undefined
}

type StripeCard = Pick<ChargedCard, 'exp_month' | 'exp_year'> & { brand: string | null; last4: string | null }

export const shownCard = ({ brand, last4, exp_month, exp_year }: StripeCard): ChargedCard => ({
  ...{ brand: brand ?? 'card', last4: last4 ?? '', exp_month, exp_year },
})

/** Stripe counts these in whole units. */
const WHOLE = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
/** Stripe counts these in thousandths, and charges cards in multiples of ten. */
const THOUSANDTHS = new Set('BHD JOD KWD OMR TND'.split(' '))
/** Stripe counts these in hundredths, and charges cards in multiples of a hundred. */
const WHOLE_IN_HUNDREDTHS = new Set(['ISK', 'UGX'])

/** Returns an amount in the unit that Stripe counts in. Undefined if a card cannot be charged exactly that amount. */
export function stripeAmount({
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
export function expanded<Part extends object>(part: Part | string | null | undefined, name: string): Part {
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

export function declineReason({ code, decline_code }: { code?: string; decline_code?: string }): string {
  const told = [decline_code, code].find((each) => each !== undefined && SHOWN_CODES.has(each))
  return told ? inWords(told) : 'declined by the bank'
}

export const isDecline = (error: unknown): error is Stripe.errors.StripeCardError =>
  error instanceof StripeError && error.rawType === 'card_error'

/** Whether Stripe refused an invalid request. Nothing happened, and a retry would be refused too. */
export const isRefusal = (error: unknown): error is Stripe.errors.StripeInvalidRequestError =>
  error instanceof StripeInvalidRequestError

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
