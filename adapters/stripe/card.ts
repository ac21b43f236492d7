import type { CardCharge, ChargedCard } from '../../src/core.js'

/** The port's name for a saved card. It includes the Customer, because Stripe charges a saved card only with its Customer. */
export const savedCardName = ({ customer, payment_method }: { customer: string; payment_method: string }): string =>
  `${customer}:${payment_method}`

/** Turns the port's name of a card into Stripe's parameters. Undefined if the name does not fit `on_file`. */
export function stripeName({
  payment_method_id: name,
  on_file,
}: Pick<CardCharge, 'payment_method_id' | 'on_file'>): { payment_method: string; customer?: string } | undefined {
  const [, customer, payment_method] = /^(cus_\w+):(\w+)$/.exec(name) ?? []
  if (on_file) return customer && payment_method ? { customer, payment_method } : undefined
  return /^\w+$/.test(name) ? { payment_method: name } : undefined
}

/** What a cardholder recognizes a card by. */
export const shownCard = ({ brand, last4, exp_month, exp_year }: StripeCard): ChargedCard => ({
  ...{ brand: brand ?? 'card', last4: last4 ?? '', exp_month, exp_year },
})

interface StripeCard {
  brand: string | null
  last4: string | null
  exp_month: number
  exp_year: number
}

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
