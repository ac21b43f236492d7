import { problem } from '../../base/problem.js'
import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { formatAmount, toAmount } from '../ledger/amount.js'

/** The price that a payer saw, and its digital quantity. A part that is absent is not compared. */
export interface PriceQuote {
  /** In the digital quantity; as a number or in decimal digits. */
  readonly price?: number | string | undefined
  readonly dq?: string | undefined
}

/** What is charged now. */
export interface CurrentPrice {
  readonly quantity: DigitalQuantityRow
  /** Smallest units. */
  readonly amount: bigint
}

/**
 * Call it in the transaction that charges. Throws `price_changed` with the present `{price, dq}` if the payer saw another price;
 * `fields` are added to it.
 */
export function checkQuote(seen: PriceQuote, present: CurrentPrice, fields: Record<string, unknown> = {}): void {
  const { quantity, amount } = present
  const price = toAmount(amount, quantity.decimals)
  const isSame =
    (seen.price === undefined || Number(seen.price) === price) && [undefined, quantity.id].includes(seen.dq)
  if (isSame) return
  const detail = `It now costs ${formatAmount(amount, quantity.decimals)} ${quantity.shortcode}.`
  throw problem('price_changed', { detail, fields: { ...fields, price, dq: quantity.id } })
}
