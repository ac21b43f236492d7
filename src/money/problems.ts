import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Amounts, twins, commodities and cards. */
export const moneyProblems = {
  amount_invalid: `400 The amount is not valid for this digital quantity. [decimals]`,
  dq_unknown: `400 No digital quantity has this hash. GET /v4/dq lists all of them.`,
  twin_unknown: `400 You have no twin with this id. GET /v4/twins lists your twins.`,
  twin_nonce_refused: `400 This nonce is unknown, used, expired, or belongs to another twin. Create a new one.`,
  insufficient_funds: `402 The payer's balance is too low.`,
  same_twin: `422 A twin cannot pay itself.`,
  not_owner: `403 This belongs to someone else.`,
  sold_by_item: `409 A catalog item sells this commodity, so it cannot pay its readers. Create another commodity.`,
  price_changed: `409 The price has changed. Nothing was charged. Check the new price and try again. {price dq lines line catalog_item_id}`,
  card_declined: `402 The card was declined. Nothing was charged. {reason invoice_id payment_id}`,
  processor_failed: `502 The card processor did not complete the charge. {outcome invoice_id payment_id}`,
  too_many_declines: `429 Too many cards were declined in the last 15 minutes. This card was not charged.`,
  too_many_charges: `429 Too many cards are being charged, or their charges have no outcome yet. This card was not charged.`,
} as const satisfies ProblemDeclarations
