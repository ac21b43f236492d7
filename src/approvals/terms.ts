import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { removeHidden } from '../hidden.js'
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

/** What somebody wrote, as part of a summary: one line, in quotation marks that it cannot end, cut off where it is long. */
export function quoted(text: string, most = MOST_CHARACTERS): string {
  const line = removeHidden(text.toWellFormed())
    .replace(/\s+/g, ' ')
    .replace(/["\u201c-\u201f]/g, "'")
  const characters = [...line.trim()]
  return `“${characters.slice(0, most).join('')}${characters.length > most ? '…' : ''}”`
}

/** An address as part of a summary: whole, as its end says whose it is. */
export const quotedAddress = (address: string): string => quoted(address, address.length)
