import type { ProblemPages } from '../base/problem-fields.js'
import type { moneyProblems } from './problems.js'

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
} satisfies ProblemPages<typeof moneyProblems>
