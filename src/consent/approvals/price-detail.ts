import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toAmount } from '../../money/ledger/amount.js'

/** An amount as the detail of an approval names it: as people read it, and as programs do. `amount` in smallest units. */
export const priceDetail = (quantity: DigitalQuantityRow, amount: bigint) => ({
  price: approvalAmountText(quantity, amount),
  amount: toAmount(amount, quantity.decimals),
  dq: quantity.id,
})

export const approvalAmountText = ({ decimals, shortcode }: DigitalQuantityRow, amount: bigint): string =>
  `${formatAmount(amount, decimals)} ${shortcode}`
