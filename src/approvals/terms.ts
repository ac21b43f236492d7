import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { formatAmount, toAmount } from '../ledger/amount.js'

/** An amount as the detail of an approval names it: as people read it, and as programs do. `amount` in smallest units. */
export const priceDetail = (quantity: DigitalQuantityRow, amount: bigint) => ({
  price: priceText(quantity, amount),
  amount: toAmount(amount, quantity.decimals),
  dq: quantity.id,
})

export const priceText = ({ decimals, shortcode }: DigitalQuantityRow, amount: bigint): string =>
  `${formatAmount(amount, decimals)} ${shortcode}`

const MOST_CHARACTERS = 120

/** What somebody wrote, as part of a summary: one line, in quotes, cut off where it is long. */
export function quoted(text: string): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  return `“${line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line}”`
}
