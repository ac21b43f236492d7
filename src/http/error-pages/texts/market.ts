import type { ErrorTexts } from './error-text.js'

/** The catalog, purchases, checkout, carts, upstream services and billing. */
export const marketErrors = {
  item_archived: {
    meaning: 'An archived item is out of the catalog and cannot be changed or archived again.',
    causes: ['The item was archived by another program or by an agent.', 'The call was repeated.'],
    fixes: [
      'Restore it first: `POST /v4/catalog/items/{id}/restore`. It is inactive then, so turn it on with `PUT /v4/catalog/items/{id}` and `active: true`.',
    ],
  },
  item_not_archived: {
    meaning: 'Only an archived item can be restored, and this one is not archived.',
    causes: ['It was restored before.', 'The id is of another item.'],
    fixes: [
      'Read `archived` in `GET /v4/catalog/mine`. To sell it again, `PUT /v4/catalog/items/{id}` with `active: true`.',
    ],
  },
  item_inactive: {
    meaning: 'The item exists, and cannot be bought here at the moment. Nothing was charged.',
    causes: [
      'Its seller turned it off, or archived it.',
      "It is private: only the MCP server of its own account sells it, and the seller's own token.",
    ],
    fixes: [
      'The seller calls `PUT /v4/catalog/items/{id}` with `active: true`, or `private: false`.',
      'Buyers find what is for sale with `GET /v4/catalog/items`.',
    ],
  },
  arguments_refused: {
    meaning:
      "The arguments do not fit the item's JSON Schema, so its endpoint was not called. Nothing was charged. `argument` is the path of the first wrong one, and `reason` says why.",
    causes: [
      'A required argument is missing, or has another type than the schema says.',
      'The schema allows no further arguments, and one was sent.',
      'An argument becomes a part of the path of the endpoint, and is empty or `..`.',
    ],
    fixes: ['Read `service_schema` of the item: `GET /v4/catalog/items/{id}`. Send `arguments` that fit it.'],
  },
  schema_refused: {
    meaning:
      "The seller's JSON Schema cannot be checked any more, or takes too long for these arguments. Only the seller can help. Nothing was charged.",
    causes: [
      'The item was stored by an older version, which accepted schemas that are refused now.',
      'The schema nests or repeats so much that a check has no end.',
    ],
    fixes: [
      'Buyers: send fewer or shorter arguments, or tell the seller.',
      'Sellers: simplify it with `PUT /v4/catalog/items/{id}` and `service_schema`.',
    ],
  },
  parameter_unreadable: {
    meaning:
      "A secret that the seller stored for the item's endpoint cannot be used. The endpoint was not called, and nothing was charged.",
    causes: [
      'The service was started with another `encryptionKey`, so the value cannot be decrypted.',
      'The endpoint contains `{secret.NAME}`, and no parameter has this name.',
      'The value does not fit into the path of the endpoint.',
    ],
    fixes: ['The seller enters the values again: `PUT /v4/catalog/items/{id}/parameters`.'],
  },
  upstream_refused: {
    meaning: 'The service may not call this URL. The rule protects the network in which the service runs.',
    causes: [
      'The host is private, such as `10.0.0.5` or `db.internal`, and the service is reachable by others.',
      'The scheme is `http`. Services that are no sandbox call `https` only.',
      'The URL has a user name, or leads to a cloud metadata service. Those are always refused.',
    ],
    fixes: [
      'In a sandbox, start it with `--allow-upstream <host or CIDR>`, or `createService({ allowUpstream: [host] })`.',
      'Send credentials as a dispatch parameter instead of in the URL.',
    ],
  },
  upstream_failed: {
    meaning:
      "The seller's endpoint gave no usable answer, so the payment was reversed. `transaction_id` names the payment, whose receipt is kept.",
    causes: [
      'The endpoint answered with a status of 500 or above.',
      'It could not be reached, took longer than `limits.upstreamMs` (30 seconds), or broke off.',
      'It answered with a redirect. Redirects are not followed.',
      'Its answer is larger than `limits.upstreamBytes` (5 MiB).',
    ],
    fixes: [
      'Buyers: try again later with a new `Idempotency-Key`. The value is back in the wallet.',
      'Sellers: call `external_endpoint` yourself, with the method and the arguments of the item.',
      'In tests, pass `upstream: { fetch }` to `createService` and answer as the endpoint would.',
    ],
  },
  too_many_hops: {
    meaning:
      'The call came through three upstream services that each bought something, and stops here. Nothing was charged.',
    causes: [
      'An item sells itself: its endpoint buys the same item again.',
      'The `Via` header of an incoming request was copied to the outgoing one.',
    ],
    fixes: ['Let the endpoint of the item fulfil the purchase itself.'],
  },
  too_many_calls: {
    meaning:
      'One payment calls at most 500 endpoints. A payer makes at most 300 free calls at one host within 15 minutes, unless `limits.freeCalls` says otherwise, and 20,000 others in a day. Nothing was held, and nothing was called.',
    causes: [
      'A cart has 500 purchases or more: the quantities of its lines together.',
      'The items are free, and the payer has called them many times. Users whose addresses are not proven count against the account that created them.',
    ],
    fixes: [
      'Put the lines into several carts, and pay for one after the other.',
      'Wait as many seconds as `Retry-After` says, if the answer has it. In a sandbox whose clock stands still, move the clock.',
      'In your own service, set the limit: `createService({ limits: { freeCalls: 10_000 } })`.',
    ],
  },
  plan_limit_reached: {
    meaning:
      "The account's plan allows no more of this. `of` says what: `active_items` or `mcp_calls`. `limit` and `used` have the numbers.",
    causes: [
      'The account has as many active items as its plan allows: 25 in Free, 500 in Growth.',
      'Agents made as many calls this month as the plan allows. `resets_at` says when the count starts again.',
    ],
    fixes: [
      'Change the plan: `PUT /v4/billing/plan` with `plan: "growth"` or `"scale"`.',
      'Turn off an item: `PUT /v4/catalog/items/{id}` with `active: false`.',
      'Buyers: try another seller, or wait until `resets_at`.',
    ],
  },
  checkout_paid: {
    meaning: 'A checkout link sells once, and someone else has paid it. You were not charged.',
    causes: ['The link was shared.', 'The same person paid in another browser, which is another session.'],
    fixes: ['Create a link for each buyer: `POST /v4/checkout`.'],
  },
  checkout_paying: {
    meaning: 'A payment of this link is on its way, or its outcome is not known yet. Nobody is charged twice.',
    causes: [
      'The buyer pressed the button twice, or two people use the link.',
      'The card processor has not answered yet.',
    ],
    fixes: [
      'Send the same request again after `Retry-After` seconds, or read `GET /v4/checkout/{token}` until `status` is `paid` or `unpaid`.',
    ],
  },
  checkout_expired: {
    meaning: 'A checkout link lasts 24 hours. If a card was charged for it just before, the charge is refunded.',
    causes: ['The buyer opened an old link.', 'The clock of the sandbox was advanced by a day.'],
    fixes: ['Create a new link: `POST /v4/checkout`.'],
  },
  refund_settled: {
    meaning: 'This refund is already settled, so nothing was paid again.',
    causes: ['Someone settled it before.', 'The card processor has refunded it meanwhile.'],
    fixes: ['`GET /v4/checkout/refunds` lists those that are open.'],
  },
  refund_outcome_refused: {
    meaning: 'The refund stays open, because this outcome could pay twice or has nobody to pay.',
    causes: [
      '`wallet`, and the payer is a guest who has no wallet.',
      '`again` or `wallet`, and it is unknown whether the card was refunded already.',
    ],
    fixes: [
      'Look the charge up at the card processor. Send `outcome: "returned"` once the payer has the money.',
      'If the processor refused the refund, send `outcome: "again"`.',
    ],
  },
  cart_full: {
    meaning: 'A cart holds at most 50 lines. The line was not added.',
    causes: ['A program adds one line for each piece instead of a `quantity`.'],
    fixes: ['Send `quantity` (1 to 99), or pay this cart and create another: `POST /v4/carts`.'],
  },
  cart_empty: {
    meaning: 'The cart has no lines, so there is nothing to pay or to approve.',
    causes: ['Its lines were removed.', 'The program pays another cart than the one that it filled.'],
    fixes: ['Add an item: `POST /v4/carts/{id}/items` with `catalog_item_id`.'],
  },
  cart_closed: {
    meaning: 'The cart is paid or being paid, so its lines stay as they are.',
    causes: ['A program keeps the id of an old cart.', 'Another tab paid the cart.'],
    fixes: ['Read the receipts with `GET /v4/carts/{id}`, and create a new cart: `POST /v4/carts`.'],
  },
  cart_paying: {
    meaning: 'A payment of this cart is on its way. It is paid once.',
    causes: ['The buyer pressed the button twice.', 'A retry came while the first call waits for the sellers.'],
    fixes: [
      'Read `GET /v4/carts/{id}` until `status` is no longer `paying`.',
      'Send an `Idempotency-Key` with the payment: a retry then gets the first answer.',
    ],
  },
  card_in_use: {
    meaning: 'The account has a paid plan or an unpaid invoice, which its card pays. The card was kept.',
    causes: ['The plan is Growth or Scale.', 'An invoice is still open.'],
    fixes: [
      'Save another card: `PUT /v4/billing/card`.',
      'Or change to the free plan with `PUT /v4/billing/plan`, pay what is open, and remove the card when the period has ended.',
    ],
  },
  invoice_not_open: {
    meaning: 'The invoice is not waiting for a payment. `invoice_status` says what it is.',
    causes: ['It was paid before, by you or by the service itself.', 'It was cancelled, or is only a draft.'],
    fixes: ['Read it with `GET /v4/billing/invoices/{id}`.'],
  },
  invoice_unpaid: {
    meaning: 'A larger plan needs a clean slate: an invoice of this account is unpaid. The plan stays as it is.',
    causes: ['The card on file was declined at the last renewal.'],
    fixes: [
      'Pay `invoice_id`: `POST /v4/billing/invoices/{id}/pay`, with `payment_method_id` for another card. Then change the plan.',
    ],
  },
  charge_pending: {
    meaning:
      'A card of this account is being charged, and nobody knows the outcome yet. Nothing else is charged until then.',
    causes: ['The card processor has not answered the last charge.', 'The renewal of the plan is due at this moment.'],
    fixes: ['Wait until `GET /v4/billing/invoices` shows the invoice as `paid` or `open`, then repeat the call.'],
  },
} satisfies ErrorTexts
