import { formatAmount } from '../../../money/ledger/amount.js'

/** The price on a closed button: with `points` decimals where the page asks for that, rounded half up. */
export function priceText(units: string, decimals: number, points?: number): string {
  const exact = trimmed(formatAmount(units, decimals))
  if (points === undefined) return exact
  const rounded = roundedUnits(BigInt(units), decimals - points)
  // A price is never shown as nothing.
  if (rounded === 0n && units !== '0') return exact
  return formatAmount(rounded, points)
}

/** Whole digits and the decimals that count, at least two of them where there are two. */
export const trimmed = (amount: string): string => amount.replace(/(\.\d\d\d*?)0+$/, '$1')

function roundedUnits(units: bigint, dropped: number): bigint {
  if (dropped <= 0) return units * 10n ** BigInt(-dropped)
  const scale = 10n ** BigInt(dropped)
  return (units + scale / 2n) / scale
}
