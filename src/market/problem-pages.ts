import type { ProblemPages } from '../base/problem-fields.js'
import type { marketProblems } from './problems.js'

export const marketPages = {
  destination_unknown: `A payment without an upstream service needs a payee, and there is none.
    cause: ‹destination› and ‹serviceUrl› are both missing.
    cause: ‹destination› is not the hostname of a twin.
    fix: Send the hostname of the payee's twin as ‹destination›: ‹GET /v4/commodity/{hash}› shows it as ‹hostname›.`,
  card_required: `A paid plan is charged every month, and the account has no card. The plan stays as it is.
    cause: ‹PUT /v4/billing/plan› came without ‹payment_method_id›, and no card was saved before.
    fix: Send ‹payment_method_id› with the plan, or save a card first with ‹PUT /v4/billing/card›.`,
  card_minimum: `Card processors charge whole cents, and at least 0.50. Nothing was charged.
    cause: The price is below 0.50.
    cause: The price has a third decimal.
    fix: Pay from a wallet: top up once with ‹POST /v4/twin/{hostname}/topup›, then pay many small prices.`,
  item_archived: `An archived item is out of the catalog and cannot be changed or archived again.
    cause: The item was archived by another program or by an agent.
    cause: The call was repeated.
    fix: Restore it first: ‹POST /v4/catalog/items/{id}/restore›. It is inactive then, so turn it on with ‹PUT /v4/catalog/items/{id}› and ‹active: true›.`,
  item_not_archived: `Only an archived item can be restored, and this one is not archived.
    cause: It was restored before.
    cause: The id is of another item.
    fix: Read ‹archived› in ‹GET /v4/catalog/mine›. To sell it again, ‹PUT /v4/catalog/items/{id}› with ‹active: true›.`,
  item_inactive: `The item exists, and cannot be bought here at the moment. Nothing was charged.
    cause: Its seller turned it off, or archived it.
    cause: It is private: only the MCP server of its own account sells it, and the seller's own token.
    fix: The seller calls ‹PUT /v4/catalog/items/{id}› with ‹active: true›, or ‹private: false›.
    fix: Buyers find what is for sale with ‹GET /v4/catalog/items›.`,
  arguments_refused: `The arguments do not fit the item's JSON Schema, so its endpoint was not called. Nothing was charged. ‹argument› is the path of the first wrong one, and ‹reason› says why.
    cause: A required argument is missing, or has another type than the schema says.
    cause: The schema allows no further arguments, and one was sent.
    cause: An argument becomes a part of the path of the endpoint, and is empty or ‹..›.
    fix: Read ‹service_schema› of the item: ‹GET /v4/catalog/items/{id}›. Send ‹arguments› that fit it.`,
  schema_refused: `The seller's JSON Schema cannot be checked any more, or takes too long for these arguments. Only the seller can help. Nothing was charged.
    cause: The item was stored by an older version, which accepted schemas that are refused now.
    cause: The schema nests or repeats so much that a check has no end.
    fix: Buyers: send fewer or shorter arguments, or tell the seller.
    fix: Sellers: simplify it with ‹PUT /v4/catalog/items/{id}› and ‹service_schema›.`,
  parameter_unreadable: `A secret that the seller stored for the item's endpoint cannot be used. The endpoint was not called, and nothing was charged.
    cause: The service was started with another ‹encryptionKey›, so the value cannot be decrypted.
    cause: The endpoint contains ‹{secret.NAME}›, and no parameter has this name.
    cause: The value does not fit into the path of the endpoint.
    fix: The seller enters the values again: ‹PUT /v4/catalog/items/{id}/parameters›.`,
  upstream_failed: `The seller's endpoint gave no usable answer, so the payment was reversed. ‹transaction_id› names the payment, whose receipt is kept.
    cause: The endpoint answered with a status of 500 or above.
    cause: It could not be reached, took longer than ‹limits.upstreamMs› (30 seconds), or broke off.
    cause: It answered with a redirect. Redirects are not followed.
    cause: Its answer is larger than ‹limits.upstreamBytes› (5 MiB).
    fix: Buyers: try again later with a new ‹Idempotency-Key›. The value is back in the wallet.
    fix: Sellers: call ‹external_endpoint› yourself, with the method and the arguments of the item.
    fix: In tests, pass ‹upstream: { fetch }› to ‹createService› and answer as the endpoint would.`,
  checkout_paid: `A checkout link sells once, and someone else has paid it. You were not charged.
    cause: The link was shared.
    cause: The same person paid in another browser, which is another session.
    fix: Create a link for each buyer: ‹POST /v4/checkout›.`,
  checkout_paying: `A payment of this link is on its way, or its outcome is not known yet. Nobody is charged twice.
    cause: The buyer pressed the button twice, or two people use the link.
    cause: The card processor has not answered yet.
    fix: Send the same request again after ‹Retry-After› seconds, or read ‹GET /v4/checkout/{token}› until ‹status› is ‹paid› or ‹unpaid›.`,
  checkout_expired: `A checkout link lasts 24 hours. If a card was charged for it just before, the charge is refunded.
    cause: The buyer opened an old link.
    cause: The clock of the sandbox was advanced by a day.
    fix: Create a new link: ‹POST /v4/checkout›.`,
  refund_settled: `This refund is already settled, so nothing was paid again.
    cause: Someone settled it before.
    cause: The card processor has refunded it meanwhile.
    fix: ‹GET /v4/checkout/refunds› lists those that are open.`,
  refund_outcome_refused: `The refund stays open, because this outcome could pay twice or has nobody to pay.
    cause: ‹wallet›, and the payer is a guest who has no wallet.
    cause: ‹again› or ‹wallet›, and it is unknown whether the card was refunded already.
    fix: Look the charge up at the card processor. Send ‹outcome: "returned"› once the payer has the money.
    fix: If the processor refused the refund, send ‹outcome: "again"›.`,
  cart_full: `A cart holds at most 50 lines. The line was not added.
    cause: A program adds one line for each piece instead of a ‹quantity›.
    fix: Send ‹quantity› (1 to 99), or pay this cart and create another: ‹POST /v4/carts›.`,
  cart_empty: `The cart has no lines, so there is nothing to pay or to approve.
    cause: Its lines were removed.
    cause: The program pays another cart than the one that it filled.
    fix: Add an item: ‹POST /v4/carts/{id}/items› with ‹catalog_item_id›.`,
  cart_closed: `The cart is paid or being paid, so its lines stay as they are.
    cause: A program keeps the id of an old cart.
    cause: Another tab paid the cart.
    fix: Read the receipts with ‹GET /v4/carts/{id}›, and create a new cart: ‹POST /v4/carts›.`,
  cart_paying: `A payment of this cart is on its way. It is paid once.
    cause: The buyer pressed the button twice.
    cause: A retry came while the first call waits for the sellers.
    fix: Read ‹GET /v4/carts/{id}› until ‹status› is no longer ‹paying›.
    fix: Send an ‹Idempotency-Key› with the payment: a retry then gets the first answer.`,
  card_in_use: `The account has a paid plan or an unpaid invoice, which its card pays. The card was kept.
    cause: The plan is Growth or Scale.
    cause: An invoice is still open.
    fix: Save another card: ‹PUT /v4/billing/card›.
    fix: Or change to the free plan with ‹PUT /v4/billing/plan›, pay what is open, and remove the card when the period has ended.`,
  invoice_not_open: `The invoice is not waiting for a payment. ‹invoice_status› says what it is.
    cause: It was paid before, by you or by the service itself.
    cause: It was cancelled, or is only a draft.
    fix: Read it with ‹GET /v4/billing/invoices/{id}›.`,
  invoice_unpaid: `A larger plan needs a clean slate: an invoice of this account is unpaid. The plan stays as it is.
    cause: The card on file was declined at the last renewal.
    fix: Pay ‹invoice_id›: ‹POST /v4/billing/invoices/{id}/pay›, with ‹payment_method_id› for another card. Then change the plan.`,
  charge_pending: `A card of this account is being charged, and nobody knows the outcome yet. Nothing else is charged until then.
    cause: The card processor has not answered the last charge.
    cause: The renewal of the plan is due at this moment.
    fix: Wait until ‹GET /v4/billing/invoices› shows the invoice as ‹paid› or ‹open›, then repeat the call.`,
  plan_limit_reached: `The account's plan allows no more of this. ‹of› says what: ‹active_items› or ‹mcp_calls›. ‹limit› and ‹used› have the numbers.
    cause: The account has as many active items as its plan allows: 25 in Free, 500 in Growth.
    cause: Agents made as many calls this month as the plan allows. ‹resets_at› says when the count starts again.
    fix: Change the plan: ‹PUT /v4/billing/plan› with ‹plan: "growth"› or ‹"scale"›.
    fix: Turn off an item: ‹PUT /v4/catalog/items/{id}› with ‹active: false›.
    fix: Buyers: try another seller, or wait until ‹resets_at›.`,
  too_many_calls: `One payment calls at most 500 endpoints. A payer makes at most 300 free calls at one host within 15 minutes, unless ‹limits.freeCalls› says otherwise, and 20,000 others in a day. Nothing was held, and nothing was called.
    cause: A cart has 500 purchases or more: the quantities of its lines together.
    cause: The items are free, and the payer has called them many times. Users whose addresses are not proven count against the account that created them.
    fix: Put the lines into several carts, and pay for one after the other.
    fix: Wait as many seconds as ‹Retry-After› says, if the answer has it. In a sandbox whose clock stands still, move the clock.
    fix: In your own service, set the limit: ‹createService({ limits: { freeCalls: 10_000 } })›.`,
} satisfies ProblemPages<typeof marketProblems>
