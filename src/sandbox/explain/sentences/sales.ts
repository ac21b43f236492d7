import type { DeclaredSentences } from './sentence.js'

/** Amounts, payments, items, carts, checkouts and plans. */
export const saleSentences = {
  amount_invalid:
    '[`{field}` was {amount}. ][An amount of this digital quantity has at most {decimals decimal}, so its smallest amount is {smallest}.]',
  dq_unknown: '[No digital quantity had the hash {dq}. ][There were {shortcodes}.]',
  twin_unknown: [
    'No twin had the id {twin_id} at that moment.',
    'The twin {twin_id} exists. It belongs to {owners}[, and {#caller} called].',
    '[{#caller} has the twin {own.id} ({own.hostname}). ][{!own}{caller} has no twin. Create one.]',
  ],
  twin_nonce_refused:
    '[{hostname} belongs to {owner} and had {unused unused nonce} at that moment. ][{!owner}No twin has the hostname {hostname}. ]A nonce of a twin works once, within five minutes. Let the holder create a new one.',
  insufficient_funds: [
    '{payer.hostname} of {payer.owner} could spend {payer.spendable} at that moment[, and {what} costs {price}].',
    '[{?payer.held}Its balance was {payer.balance}, of which {payer.held} was held for what is pending. ][{?several}The payer has {twins twin}. Without `hostname`, the first one pays. ][{lack} is missing. ][{!payer}{owner} has no twin to pay from. Create one first, then fund it.]',
  ],
  same_twin: '[{hostname} of {owner} is both payer and payee. ][The payer also has {other}.]',
  not_owner: [
    'The {wrong.kind} {wrong.value} exists. It belongs to {wrong.owners}[, and {#caller} called].',
    '[Call as {owner}: its token comes from {token_from}. ][Agents pay from {agent_twin} only.]',
  ],
  sold_by_item:
    '[Catalog item {item} ]sells the commodity {descriptor}, so it keeps charging. Create another commodity with `payback: true`.',
  price_changed:
    '[The prices of {lines line} of the cart are not those that the payer saw. ][{!lines}The payer saw {seen}, and {descriptor} costs {now}. ][{!lines}{!descriptor}The payer saw {seen}, and the price is {price}. ]Show the new price to the payer, and repeat the request with it.',
  card_declined:
    '[The card {payment_method_id} was declined: {reason}. ][This test value does the following: {test_value} ]`pm_card_visa` works.',
  processor_failed: [
    '[{?processor}The card processor gave no usable answer for {method}. ][{!processor}The service has no card processor. Create it with `cards`, or with `sandbox: true`. ][{?pending}The card may still be charged. The service asks again by itself, so do not send another card.]',
    '{!pending}Nothing was charged. The test value `pm_card_visa` works.',
  ],
  too_many_declines:
    '[{declined card} were declined within 15 minutes for {payer}. At most 10 may be, or 100 for the guests of one seller. This card was not tried. ][The next card is possible after {retry_after} seconds.]',
  too_many_charges:
    '[{open charge} have no outcome yet, {own} of them of {payer}. At most 20 of one user, account or link may be open, or 200 of the guests of one seller. This card was not tried. ][Send the same call again after {retry_after} seconds.]',
  nonce_unknown:
    '[The commodity {descriptor} had {payments payment} at that moment, and none has this nonce with this timestamp. ][A payment of that time is for the commodity {elsewhere.hash}. ][The last payment is {payments.0.id}, with the timestamp {payments.0.timestamp}.]',
  nonce_used: [
    'The nonce of payment {payment.id} was validated at {used_at}[ by {used_by}].',
    'A nonce validates once. A new payment has a new nonce.',
  ],
  nonce_expired:
    '[The nonce of payment {payment.id} {@expires_at}. ][A nonce lasts {nonce_seconds} seconds (`limits.nonceSeconds`). The payment itself stays.]',
  not_invited:
    '[{about} ][{#caller} sent it, and only the person with that address can claim it. Their first sign-in proves the address, and claims the transfer.]',
  transfer_settled:
    '[{about} ][{?is_claim}It has ended, so it cannot be claimed. Its sender can send the amount again. ][{!is_claim}{?completed}The recipient has the amount, and can send it back with a transfer of their own. ][{!is_claim}{!completed}Nothing is left to cancel: the sender has the amount.]',
  transfer_expired: '[{about} ]The amount is back with its sender, who can send it again.',
  payback_only: 'The commodity {descriptor} pays its readers {price} instead of charging them.',
  payback_refused:
    '[The commodity {descriptor} of {seller} does not pay its readers. ][Catalog item {item} sells it, so it cannot. Create another commodity with `payback: true`. ][{!item}Its seller can turn that on.]',
  payback_taken: [
    'The commodity {descriptor} had paid {user} before[: payment {payment} at {paid_at}].',
    'It pays each user once.',
  ],
  email_unproven:
    '[{email} had never been proven: a code that was mailed there was not entered. ][{maker} made the user. ]A sign-in by the sandbox proves the address too.',
  binder_invalid:
    '[Line {line}, column `{column}`, must be {expected}. ][{!column}Line {line} {expected}. ][It was {given}. ]Nothing was imported. Correct the line, and send the whole file again.',
  binder_refused: [
    '{hostname} has a history already[: {holds}]. A binder needs a twin without one.',
    'Create a twin for it, then import the file there.',
  ],
  import_in_progress:
    '[An import into {hostname} was `{state}`, with {pieces piece} read. ]Send the file again once that import has ended.',
  import_ended:
    '[{!state}No import into {hostname} was under way any more. ][An import into {hostname} was `{state}`, with {pieces piece} read. ]Read the binder of the twin to see its rows. If they are missing, send the file again.',
  destination_unknown:
    '[No twin had the hostname {=destination}. ][{!destination}The request named neither a payee nor an upstream service. ][The twins of sellers were {hostnames}.]',
  card_required:
    '{owner} has the plan {plan_name} and [{!card}no card on file][{?card}a card on file]. The plan {wanted} is charged every month.',
  card_minimum:
    '[The price is {price}. Cards are charged in whole cents, at least 0.50. ]Pay from a wallet: leave out `payment_method_id`, and sign in if you are a guest.',
  item_archived: '[{about} ]It is archived, so it cannot change. Restore it first.',
  item_not_archived:
    '[{about} ][{?active}It is not archived, and active, so nothing is left to restore. ][{!active}It is not archived, and inactive, so turn it on.]',
  item_inactive:
    '[{about} ][At that moment, it was {state}. Nothing was charged. ][{?archived}Restoring leaves it inactive, so restore it and then turn it on.]',
  arguments_refused: [
    '[{about} ][It takes {declared}. ][The request sent {=sent}. ][The item does not declare {undeclared}.]',
    '[{argument}: ]{reason}',
  ],
  schema_refused: '[{about} ]Its JSON Schema cannot be checked. Its seller simplifies it.',
  parameter_unreadable:
    '[{about} ][Its endpoint needs {needed}. ][Of its parameters, {names} is stored. ]Values are stored encrypted. The seller enters them again.',
  upstream_failed:
    '[{about} ][Its endpoint is {service_method} {endpoint}. ][{!item}The call went to {endpoint}. ][The service called {calls}. ][{detail} ][Payment {payment.id} of {price} is `{payment.status}`. ]Let the endpoint answer with a status below 500 within the time limit, then repeat the request.',
  checkout_paid: [
    '{about}',
    '{#payer} paid it[, with the receipt {receipt}].',
    'A link sells once. Create one for each buyer.',
  ],
  checkout_paying:
    '[{about} ][A payment of it began at {attempt_at}. ][{!attempt_at}The card processor has not said how its charge ended. ][Repeat the request after {retry_after} seconds. The checkout is paid once.]',
  checkout_expired: '[{about} ][It {@expires_at}. ]A link lasts 24 hours. Create a new one.',
  refund_settled:
    '[{about} is `{refund_status}`, so nothing is left to settle. ]GET /v4/checkout/refunds lists the open ones.',
  refund_outcome_refused:
    '[{about} is `{refund_status}`, its payer is {payer}, and the request sent {=sent}. ][The processor said: {refusal}. ][{?again}Try the card again, or return the money yourself. ][{!again}Look the charge up at the card processor, and send `returned` once the payer has the money.]',
  cart_full: 'Cart {cart} had {lines line}, and {most} are possible. Create another cart, or send a larger `quantity`.',
  cart_empty: [
    'The cart {cart} had no lines at that moment.[ {lines_made line} had been added and removed.]',
    '[Catalog item {item} is for sale. ][{!item}No catalog item is for sale.]',
  ],
  cart_closed: [
    'The cart {cart} was paid at {ordered_at}[, with the receipts {receipts}].',
    '[{!ordered_at}The cart {cart} was being paid. ]A paid cart stays as it is. Create a new one.',
  ],
  cart_paying: [
    'A payment of cart {cart} was on its way[: {other}, which began at {other_at}].',
    'Read the cart until it is no longer `paying`. It is paid once.',
  ],
  card_in_use: [
    'The card {card.brand} {card.last4} pays the plan {plan_name}[ and invoice {unpaid_invoice}].',
    'Save another card instead, or change to the free plan and wait for the end of the period.',
  ],
  invoice_not_open: [
    'The invoice {invoice} of {dollars} USD is `{invoice_status}`[ since {paid_at}]. Only an open one can be paid.',
    '[{?paid_at}Nothing is left to pay. ][{!paid_at}GET /v4/billing/invoices lists those of the account.]',
  ],
  invoice_unpaid: [
    'The invoice {invoice} of {dollars} USD is `{invoice_status}`[, after {failures declined charge}].',
    'Pay it, then change the plan.',
  ],
  charge_pending:
    '[Invoice {invoice} of {dollars} USD is `{invoice_status}`, and its charge has no outcome yet. ][{!invoice}The renewal of the plan is due at this moment. ]The service asks the card processor again by itself. Repeat the request after that.',
  plan_limit_reached:
    '[{owner} has the plan {plan_name}, which allows {limit} {counted}. {used} were used. ][The plan {next_plan} allows {next_limit}. ][The count starts again at {resets}.]',
  too_many_calls: [
    '{!retry_after}One payment makes at most {most} calls. Take lines out of the cart, and pay for them in another one.',
    '{?retry_after}At most {most} calls of one payer reach a host in its time[, `{option}`]. Nothing was called.',
    'The next one is possible after {retry_after second} of the clock of the sandbox.',
  ],
} satisfies DeclaredSentences
