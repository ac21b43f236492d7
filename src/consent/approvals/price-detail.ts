import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toAmount } from '../../money/ledger/amount.js'

/** An amount in the detail of an approval, as text for people and as numbers for programs. Takes smallest units. */
export const priceDetail = (quantity: DigitalQuantityRow, amount: bigint) => ({
  price: approvalAmountText(quantity, amount),
  amount: toAmount(amount, quantity.decimals),
  dq: quantity.id,
})

export const approvalAmountText = ({ decimals, shortcode }: DigitalQuantityRow, amount: bigint): string =>
  `${formatAmount(amount, decimals)} ${shortcode}`
