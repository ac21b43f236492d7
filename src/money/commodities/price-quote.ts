import { problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { moneyText, toAmount } from '../ledger/amount.js'

/** The price that the payer saw, and its digital quantity. Absent fields are not compared. */
export interface PriceQuote {
  /** In the digital quantity: a number or decimal digits. */
  readonly price?: number | string | undefined
  readonly dq?: string | undefined
}

/** The price that is charged now. */
export interface CurrentPrice {
  readonly quantity: DigitalQuantityRow
  /** Smallest units. */
  readonly amount: bigint
}

/**
 * Checks, in the transaction that charges, that the price is the one that the payer saw. Throws `price_changed` with
 * the current `{price, dq}` and the given `fields`.
 */
export function checkQuote(seen: PriceQuote, present: CurrentPrice, fields: ProblemFields = {}): void {
  const { quantity, amount } = present
  const price = toAmount(amount, quantity.decimals)
  const isSame =
    (seen.price === undefined || Number(seen.price) === price) && [undefined, quantity.id].includes(seen.dq)
  if (isSame) return
  const detail = `It now costs ${moneyText(amount, quantity)}.`
  throw problem('price_changed', { detail, fields: { ...fields, price, dq: quantity.id } })
}
