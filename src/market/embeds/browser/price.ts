import { formatAmount } from '../../../money/ledger/amount.js'

/** Formats the price on a closed button, with `points` decimals if the page requests that, rounded half up. */
export function formatPrice(units: string, decimals: number, points?: number): string {
  const exact = trimmed(formatAmount(units, decimals))
  if (points === undefined) return exact
  const rounded = roundedUnits(BigInt(units), decimals - points)
  // A price that is not zero is never shown as zero.
  if (rounded === 0n && units !== '0') return exact
  return formatAmount(rounded, points)
}

/** Removes zeros at the end of an amount, but leaves two decimals if it has two. */
export const trimmed = (amount: string): string => amount.replace(/(\.\d\d\d*?)0+$/, '$1')

function roundedUnits(units: bigint, dropped: number): bigint {
  if (dropped <= 0) return units * 10n ** BigInt(-dropped)
  const scale = 10n ** BigInt(dropped)
  return (units + scale / 2n) / scale
}
