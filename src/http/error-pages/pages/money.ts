/** Amounts, payments, and what is sold. */
export const moneyPages = {
  amount_invalid: `The number is not an amount of this digital quantity. Amounts are exact: nothing is rounded.
    cause: It has more decimals than the digital quantity, such as 0.0005 where three are allowed. ‹0.1 + 0.2› in JavaScript has 17.
    cause: It is zero where something must move, negative, or so large that a JSON number cannot hold it.
    cause: A top-up has more than two decimals. Cards are charged in whole cents.
    cause: More would be issued than a digital quantity can have.
    fix: Compute in integers and divide once at the end, or round: ‹Number(sum.toFixed(3))›.
    fix: ‹GET /v4/dq› lists the digital quantities.`,
  dq_unknown: `No digital quantity has this hash. A digital quantity is the unit of value, such as a US dollar with three decimals.
    cause: The name or the shortcode was sent in place of the hash.
    cause: The hash is from another service, or from before a reset.
    cause: A seed names a digital quantity that it does not define.
    fix: Send one of the ‹digital_quantities› of ‹GET /v4/dq›.`,
  twin_unknown: `None of your twins has this id. A twin is a wallet, and a commodity is paid into one of its seller.
    cause: The twin belongs to another account.
    cause: The hostname was sent in place of the numeric ‹id›.
    fix: Send an ‹id› of ‹GET /v4/twins›, with the same token. ‹POST /v4/twin› creates a twin.`,
  twin_nonce_refused: `The nonce does not prove that the other side holds this twin. It works once, within five minutes.
    cause: It was verified before.
    cause: It is older than five minutes.
    cause: ‹hostname› is not the twin that created it.
    fix: Let the holder create a new one: ‹POST /v2/twin/nonce›. Verify it with ‹PUT /v2/twin/nonce›.`,
  insufficient_funds: `The payer's wallet has too little of this digital quantity. Nothing was moved. Value that is held for a pending purchase cannot be spent.
    cause: The balance is too low.
    cause: The payer has value in another digital quantity.
    cause: The payer has no twin at all.
    cause: The payment comes from another twin than expected: without ‹hostname›, it is the primary one.
    fix: Read ‹balances› with ‹GET /v4/twins›.
    fix: Top up: ‹POST /v4/twin/{hostname}/topup›. In a sandbox, ‹POST /_sandbox/fund› or ‹service.sandbox.fund(…)›.`,
  same_twin: `Payer and payee are one wallet, so nothing would move.
    cause: A seller tries to buy their own article with the same twin.
    cause: A transfer goes to the address of its sender.
    fix: Pay from another twin: send its ‹hostname›. In tests, make a user of their own as the payer.`,
  not_owner: `It exists, and belongs to another account or user. Nothing was read or changed.
    cause: The token is of another account than the one that created it.
    cause: ‹hostname› names the twin of the payee instead of your own.
    cause: An agent names a twin other than the one that its user lets agents pay from.
    fix: Send a ‹hostname› of ‹GET /v4/twins›, or leave it out to pay from the primary twin.
    fix: Use the token of the account that created the commodity or persona.`,
  sold_by_item: `A commodity either is sold or pays its readers. A catalog item sells this one, so it stays as it is.
    cause: ‹PUT /v4/commodity/{hash}/payback› names the commodity that an item created for itself.
    fix: Create another commodity with ‹payback: true›.`,
  price_changed: `The request says which price the payer saw, and the price is another now. Nothing was charged. The fields have the current price.
    cause: The seller changed the price after your page was loaded.
    cause: ‹cost› or ‹price› is of another item, or ‹dq› of another digital quantity.
    cause: A line of a cart costs more or less than when it was added.
    fix: Show the new ‹price› and ‹dq› to the payer, and repeat the call with them.
    fix: For a cart, read ‹lines›. ‹accept_prices: true› accepts whatever they cost.
    fix: A checkout link is for one price: create a new one with ‹POST /v4/checkout›.`,
  card_declined: `The card's bank refused. Nothing was charged, and nothing was sold. ‹reason› has what the processor says.
    cause: The card has expired, or has too little on it.
    cause: The bank wants its holder to confirm.
    cause: A test used a payment method that always declines, such as ‹pm_card_chargeDeclined›.
    fix: Use another ‹payment_method_id›.
    fix: In a sandbox, ‹GET /_sandbox/test-values› says what each test card does.`,
  processor_failed: `The card processor gave no usable answer. ‹outcome› says whether the card may still be charged: ‹failed› means no, ‹unknown› means perhaps.
    cause: The service has no card processor: it was created without ‹cards› and is no sandbox.
    cause: The processor is down or answered too late.
    fix: With ‹outcome: "unknown"›, do not charge another card. farthing asks again by itself: read the checkout, the invoice or ‹GET /v4/events› shortly.
    fix: With ‹outcome: "failed"›, try again later.
    fix: In your own service, pass ‹cards›, such as ‹stripeCards(…)› of ‹farthing/stripe›.`,
  too_many_declines: `Ten cards were declined within 15 minutes for one user, account or link, or for the guests at one public address, or 100 for all guests of one seller. This card was not tried, so that nobody tests stolen cards here.
    cause: A form retries a declined card.
    cause: Someone tries card numbers.
    cause: An account lets users that it made, and whose address nobody has proven, try cards. They count together.
    fix: Wait as long as ‹Retry-After› says. Pay from a wallet meanwhile.`,
  too_many_charges: `Twenty charges of one user, account or link have no outcome yet, or 200 of the guests of one seller. This card was not tried. Each charge reserves what it will issue, so nobody may have more of them.
    cause: Many cards are being charged at this moment.
    cause: The card processor does not say whether it charged the cards. farthing asks again for up to three days.
    fix: Wait as long as ‹Retry-After› says, and send the same call again.
    fix: Read what is open with ‹GET /v4/payments› or ‹GET /v4/events›. Do not top up again for a payment that is pending.`,
  nonce_unknown: `No payment for this commodity has this nonce, so there is no proof of payment. Do not deliver.
    cause: ‹hash› in the path is of another commodity than the one that was paid.
    cause: ‹timestamp› does not belong to this nonce. It may be sent in milliseconds or in seconds, or left out.
    cause: The visitor made it up, or the payment was made at another service.
    fix: Send ‹nonce› and ‹timestamp› exactly as the payment returned them: ‹POST /v4/payment/{hash}/validate› with ‹{nonce, timestamp}›.`,
  nonce_used: `The payment is real, and its nonce was validated before. One payment unlocks one thing once.
    cause: The seller validates twice, for example once in a middleware and once in the handler.
    cause: The visitor reloads the page or shares its address.
    cause: A retry after an answer that was lost.
    fix: Validate once, and remember in your own session what the visitor bought.
    fix: Send an ‹Idempotency-Key› with the call: a retry then gets the first answer.
    fix: To look without spending, read ‹GET /v4/payment/{hash}/validate›.`,
  nonce_expired: `The payment is real, and its proof is too old. A nonce lasts 15 minutes. The payment itself stays.
    cause: The seller validated long after the payment.
    cause: The clock of the sandbox was advanced between the two.
    fix: Validate as soon as the page gets the ‹purchase› event.
    fix: Find the payment with ‹GET /v4/commodity/{hash}/transactions›.
    fix: In your own service, set ‹limits.nonceSeconds›.`,
  not_invited: `The amount waits for the person with the invited email address. The sender cannot claim it.
    cause: The sender follows their own invitation.
    fix: Take it back with ‹POST /v4/transfers/{id}/cancel›, or let the invited person sign in and claim it.`,
  transfer_settled: `The transfer has ended: it was claimed or taken back. Nothing was moved now.
    cause: Someone else was faster: the recipient claimed it, or the sender cancelled it.
    cause: The call was repeated.
    fix: Read its ‹status› with ‹GET /v4/transfers/{id}›.`,
  transfer_expired: `An invitation lasts 30 days. Nobody claimed this one, so the amount is back with its sender.
    cause: The recipient opened the mail too late.
    cause: The clock of the sandbox was advanced by more than 30 days.
    fix: Send it again with ‹POST /v4/transfer›.`,
  payback_only: `This commodity pays its readers instead of charging them.
    cause: A payment element or a program uses the commodity of a payback element.
    fix: Call ‹POST /v4/payback/{hash}›, or show the payback element.
    fix: To sell it, turn that off: ‹PUT /v4/commodity/{hash}/payback› with ‹enabled: false›.`,
  payback_refused: `Only a commodity whose seller has turned it on pays its readers.
    cause: The commodity was created without ‹payback: true›.
    cause: Its seller has turned it off.
    fix: The seller calls ‹PUT /v4/commodity/{hash}/payback› with ‹enabled: true›, or creates a commodity with ‹payback: true›.`,
  payback_taken: `A commodity pays each user once, and this user has been paid.
    cause: The page offers the payback again after a reload.
    cause: A retry after an answer that was lost, without an ‹Idempotency-Key›.
    fix: Look for the payment with ‹GET /v4/payments›.
    fix: Pay for something else with another commodity.`,
  email_unproven: `A commodity that pays its readers pays only users who have proven their address, because addresses that anybody makes up cost nothing.
    cause: The user was created by ‹POST /v4/user›, or seeded with ‹email_verified: false›, and has never signed in with a mailed code.
    fix: Let the user sign in once: ‹POST /v4/session/code›, then ‹POST /v4/session/verify›.`,
  binder_invalid: `A line of the CSV is not a line of a binder. Nothing was imported. ‹line›, ‹column› and ‹expected› say where and what.
    cause: A spreadsheet changed the numbers, the times or the order of the columns.
    cause: A required column is missing.
    cause: A row pays into the very twin that it is imported into.
    fix: Import the file as the live service exported it, in UTF-8.
    fix: Correct the named cell, and send the whole file again.`,
  binder_refused: `A binder is imported into a twin without a history, so that its balances are those of the file. This twin cannot take one.
    cause: The twin has payments or delegates already, or a binder was imported before.
    cause: The twin belongs to no account and to no user.
    fix: Create a twin for the binder: ‹POST /v4/twin›, then ‹POST /_sandbox/twins/{hostname}/binder›.`,
  import_in_progress: `Another import into this twin has not ended.
    cause: The call was repeated.
    cause: Two programs import into the same twin.
    fix: Wait, then read ‹GET /v4/twin/{hostname}/binder›.`,
  import_ended: `The state was replaced while the import ran, so the import cannot say whether its rows are there.
    cause: ‹POST /_sandbox/reset› or a restored snapshot came in between.
    cause: Another process took the import over.
    fix: Read ‹GET /v4/twin/{hostname}/binder›, and import again if it is empty.`,
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
} as const
