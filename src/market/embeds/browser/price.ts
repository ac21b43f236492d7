import { formatAmount, moneyText, trimmed } from '../../../money/ledger/amount.js'

/** An amount in a digital quantity, as pages read it, with its unit. */
export const moneyOf = (amount: number, quantity: { readonly decimals: number; readonly shortcode: string }): string =>
  moneyText(smallestUnits(amount, quantity), quantity)

/** An amount in smallest units. */
export const smallestUnits = (amount: number, { decimals }: { readonly decimals: number }): bigint =>
  BigInt(amount.toFixed(decimals).replace('.', ''))

/** Formats the price on a closed button, with `points` decimals if the page requests that, rounded half up. */
export function formatPrice(units: string, decimals: number, points?: number): string {
  const exact = trimmed(formatAmount(units, decimals))
  if (points === undefined) return exact
  const rounded = roundedUnits(BigInt(units), decimals - points)
  // A price that is not zero is never shown as zero.
  if (rounded === 0n && units !== '0') return exact
  return formatAmount(rounded, points)
}

function roundedUnits(units: bigint, dropped: number): bigint {
  if (dropped <= 0) return units * 10n ** BigInt(-dropped)
  const scale = 10n ** BigInt(dropped)
  return (units + scale / 2n) / scale
}
