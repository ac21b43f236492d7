import type { CardCharge } from '../../src/core.js'

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
