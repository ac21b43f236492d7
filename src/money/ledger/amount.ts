import { problem } from '../../base/problem.js'

/** The largest amount in smallest units: beyond it a JSON number no longer counts exactly. */
export const MAX_UNITS = BigInt(Number.MAX_SAFE_INTEGER)

/**
 * A JSON number in a digital quantity, as a count of its smallest units. Throws `amount_invalid` for what is negative,
 * not finite, finer than the smallest unit or above 2^53-1 of them, and for a number that stands for two such counts:
 * with decimals, doubles lie further apart than the smallest unit from some 2^52 of them on.
 */
export function toUnits(amount: number, decimals: number): bigint {
  if (!Number.isFinite(amount)) throw problem('amount_invalid', { detail: 'It must be a finite number.' })
  if (amount < 0) throw problem('amount_invalid', { detail: 'It must not be negative.' })
  const { digits, scale } = decimalOf(amount)
  const shift = decimals - scale
  if (shift < 0) throw problem('amount_invalid', { detail: `It takes at most ${decimals} decimals.` })
  // 1e308 would be a bigint of 300 digits: the length alone says it is too large.
  if (digits.length + shift > 17) throw tooLarge(decimals)
  const units = BigInt(digits) * 10n ** BigInt(shift)
  if (units > MAX_UNITS) throw tooLarge(decimals)
  if (toAmount(units - 1n, decimals) === amount || toAmount(units + 1n, decimals) === amount)
    throw problem('amount_invalid', { detail: 'It is so large that its last decimal is lost in a JSON number.' })
  return units
}

/** Smallest units as the JSON number that is shown: the double nearest to it, read back as the same count up to 2^52. */
export function toAmount(units: bigint | string, decimals: number): number {
  const text = BigInt(units).toString()
  return Number(`${text}e-${decimals}`)
}

/** An amount as people read it, with every decimal of the quantity: `0.010`. */
export const formatAmount = (units: bigint | string, decimals: number): string => {
  const text = BigInt(units).toString()
  const [sign, digits] = text.startsWith('-') ? ['-', text.slice(1)] : ['', text]
  if (decimals === 0) return text
  const padded = digits.padStart(decimals + 1, '0')
  return `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`
}

/** The shortest decimal that reads back as this double: integer digits, and how many of them are decimals. */
function decimalOf(amount: number): { digits: string; scale: number } {
  const [mantissa = '0', exponent = '0'] = String(amount).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(exponent)
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '')
  return scale < 0 ? { digits: digits + '0'.repeat(-scale), scale: 0 } : { digits, scale }
}

const tooLarge = (decimals: number) =>
  problem('amount_invalid', { detail: `It must be at most ${toAmount(MAX_UNITS, decimals)}.` })
