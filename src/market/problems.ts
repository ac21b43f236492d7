import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Items, carts, checkouts, plans and invoices. */
export const marketProblems = {
  destination_unknown: "400 The payee is missing. Send the hostname of the payee's twin as `destination`.",
  card_required: ['400 A paid plan needs a card. Send its `payment_method_id`.', { fields: ['field'] }],
  card_minimum:
    '422 Cards are charged in whole cents, at least 0.50 of the digital quantity. Pay this from a wallet. Nothing was charged.',
  item_archived: '409 This item is archived. Restore it first.',
  item_not_archived: '409 This item is not archived.',
  item_inactive: ['409 This item is not for sale at the moment.', { fields: ['line'] }],
  arguments_refused: [
    "422 The arguments do not match the item's schema. Nothing was charged.",
    { fields: ['argument', 'reason', 'line'] },
  ],
  schema_refused: [
    "422 This service cannot check the seller's JSON Schema for this item's arguments. Only the seller can fix it. Nothing was charged.",
    { fields: ['line'] },
  ],
  parameter_unreadable: [
    '502 A dispatch parameter of this item is unusable. Nothing was charged. The seller must enter it again.',
    { fields: ['line'] },
  ],
  upstream_failed: [
    '502 The upstream service gave no usable answer. The payment was reversed.',
    { fields: ['transaction_id'] },
  ],
  checkout_paid: '409 This checkout was already paid by someone else.',
  checkout_paying: '409 A payment of this checkout is in progress. Check again shortly.',
  checkout_expired: '410 This checkout link has expired. Any card charge for it is refunded.',
  refund_settled: '409 This refund is already settled. GET /v4/checkout/refunds lists the open ones.',
  refund_outcome_refused: '409 This refund cannot be settled with this outcome.',
  cart_full: '422 A cart holds at most 50 lines. Create another cart.',
  cart_empty: '422 The cart is empty.',
  cart_closed: '409 This cart is paid or being paid, so it cannot change. Create a new cart.',
  cart_paying: '409 A payment of this cart is in progress. Read the cart to see the outcome.',
  card_in_use: '409 A paid plan needs its card. Save another card, or change to the free plan first.',
  invoice_not_open: ['409 Only an open invoice can be paid.', { fields: ['invoice_status'] }],
  invoice_unpaid: ['409 An invoice is unpaid. Pay it first.', { fields: ['invoice_id'] }],
  charge_pending: [
    '409 A card charge has no outcome yet. Check GET /v4/billing/invoices shortly.',
    { fields: ['invoice_id'] },
  ],
  plan_limit_reached: [
    "403 The account's plan does not allow more.",
    { fields: ['of', 'plan', 'limit', 'used', 'resets_at'] },
  ],
  too_many_calls: [
    '429 Too many calls of endpoints: one payment makes at most 500, and free ones are limited to 300 in 15 minutes at each host. Nothing was held, and nothing was called.',
    { fields: ['limit'], facts: ['most'] },
  ],
} as const satisfies ProblemDeclarations
