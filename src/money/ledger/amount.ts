import { problem } from '../../base/problem.js'

/** The largest amount in smallest units. JSON numbers above it are not exact. */
export const MAX_UNITS = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * Converts a JSON number in a digital quantity to smallest units. Throws `amount_invalid` if it is negative, not
 * finite, finer than the smallest unit or above 2^53-1 units, or if two counts have this number: with decimals, from
 * about 2^52 units on, doubles are further apart than the smallest unit.
 */
export function toUnits(amount: number, decimals: number): bigint {
  if (!Number.isFinite(amount)) throw problem('amount_invalid', { detail: 'It must be a finite number.' })
  if (amount < 0) throw problem('amount_invalid', { detail: 'It must not be negative.' })
  const { digits, scale } = decimalOf(amount)
  const shift = decimals - scale
  if (shift < 0)
    throw problem('amount_invalid', { detail: `It must have at most ${decimals} decimals.`, facts: { decimals } })
  // 1e308 would be a bigint of 300 digits, so check the length first.
  if (digits.length + shift > 17) throw tooLarge(decimals)
  const units = BigInt(digits) * 10n ** BigInt(shift)
  if (units > MAX_UNITS) throw tooLarge(decimals)
  if (toAmount(units - 1n, decimals) === amount || toAmount(units + 1n, decimals) === amount)
    throw problem('amount_invalid', {
      detail: 'It is so large that a JSON number loses its last decimal. Use a smaller amount.',
    })
  return units
}

/** Converts smallest units to the nearest JSON number. Up to 2^52 units, it converts back to the same count. */
export function toAmount(units: bigint | string, decimals: number): number {
  const text = BigInt(units).toString()
  return Number(`${text}e-${decimals}`)
}

/** An amount as people read it everywhere, with its unit: `0.25 USD`. */
export const moneyText = (
  units: bigint | string,
  { decimals, shortcode }: { readonly decimals: number; readonly shortcode: string },
): string => `${trimmed(formatAmount(units, decimals))} ${shortcode}`

/** Removes zeros at the end of an amount, but leaves two decimals if it has two. */
export function trimmed(amount: string): string {
  const least = amount.includes('.') ? amount.indexOf('.') + 3 : amount.length
  let end = amount.length
  while (end > least && amount[end - 1] === '0') end--
  return amount.slice(0, end)
}

/** An amount as text, with every decimal of the digital quantity, such as `0.010`. */
export const formatAmount = (units: bigint | string, decimals: number): string => {
  const text = BigInt(units).toString()
  const [sign, digits] = text.startsWith('-') ? ['-', text.slice(1)] : ['', text]
  if (decimals === 0) return text
  const padded = digits.padStart(decimals + 1, '0')
  return `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`
}

/** The shortest decimal of a double: its digits, and how many of them are decimals. Below zero: this many zeros follow. */
function decimalOf(amount: number): { digits: string; scale: number } {
  const [mantissa = '0', exponent = '0'] = String(amount).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: whole + fraction, scale: fraction.length - Number(exponent) }
}

const tooLarge = (decimals: number) =>
  problem('amount_invalid', { detail: `It must be at most ${toAmount(MAX_UNITS, decimals)}.`, facts: { decimals } })
