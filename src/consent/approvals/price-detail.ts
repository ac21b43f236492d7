import { checkQuote, type PriceQuote } from '../../money/commodities/commodity.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toAmount, toUnits } from '../../money/ledger/amount.js'
import type { Reader } from '../../storage/storage.js'
import type { ApprovalRow } from './approval.js'

/** An amount in the detail of an approval, as text for people and as numbers for programs. Takes smallest units. */
export const priceDetail = (quantity: DigitalQuantityRow, amount: bigint) => ({
  price: moneyText(amount, quantity),
  amount: toAmount(amount, quantity.decimals),
  dq: quantity.id,
})

type PaidPart = { readonly amount: number; readonly dq: string; readonly quantity?: number }

/** The total that an approval lets an agent pay in `dq`. Default: the quantity of its first amount. Undefined if it pays nothing. */
export async function approvedPrice(tx: Reader, { kind, detail }: ApprovalRow, dq?: string) {
  if (kind === 'account_change') return undefined
  const parts: readonly PaidPart[] = kind === 'cart' ? detail.lines : [{ amount: detail.amount, dq: detail.dq }]
  const pricedPart = parts.find((part) => part.dq === dq) ?? parts[0]
  if (!pricedPart) return undefined
  const quantity = await quantityOf(tx, pricedPart.dq)
  const amounts = parts
    .filter((part) => part.dq === quantity.id)
    .map((part) => toUnits(part.amount, quantity.decimals) * BigInt(part.quantity ?? 1))
  return { quantity, amount: amounts.reduce((sum, amount) => sum + amount, 0n) }
}

/** Throws `price_changed` if the quote that the user saw differs from the approved price. */
export async function checkApprovedPrice(tx: Reader, row: ApprovalRow, seen: PriceQuote): Promise<void> {
  const price = await approvedPrice(tx, row, seen.dq)
  if (price) checkQuote(seen, price)
}
