import type { ErrorTexts } from './error-text.js'

/** Value: amounts, wallets, payments, transfers and cards. */
export const paymentErrors = {
  amount_invalid: {
    meaning: 'The number is not an amount of this digital quantity. Amounts are exact: nothing is rounded.',
    causes: [
      'It has more decimals than the digital quantity, such as 0.0005 where three are allowed. `0.1 + 0.2` in JavaScript has 17.',
      'It is zero where something must move, negative, or so large that a JSON number cannot hold it.',
      'A top-up has more than two decimals. Cards are charged in whole cents.',
      'More would be issued than a digital quantity can have.',
    ],
    fixes: [
      'Compute in integers and divide once at the end, or round: `Number(sum.toFixed(3))`.',
      '`GET /v4/dq` lists the digital quantities.',
    ],
  },
  dq_unknown: {
    meaning:
      'No digital quantity has this hash. A digital quantity is the unit of value, such as a US dollar with three decimals.',
    causes: [
      'The name or the shortcode was sent in place of the hash.',
      'The hash is from another service, or from before a reset.',
      'A seed names a digital quantity that it does not define.',
    ],
    fixes: ['Send one of the `digital_quantities` of `GET /v4/dq`.'],
  },
  twin_unknown: {
    meaning: 'None of your twins has this id. A twin is a wallet, and a commodity is paid into one of its seller.',
    causes: ['The twin belongs to another account.', 'The hostname was sent in place of the numeric `id`.'],
    fixes: ['Send an `id` of `GET /v4/twins`, with the same token. `POST /v4/twin` creates a twin.'],
  },
  destination_unknown: {
    meaning: 'A payment without an upstream service needs a payee, and there is none.',
    causes: ['`destination` and `serviceUrl` are both missing.', '`destination` is not the hostname of a twin.'],
    fixes: [
      "Send the hostname of the payee's twin as `destination`: `GET /v4/commodity/{hash}` shows it as `hostname`.",
    ],
  },
  nonce_unknown: {
    meaning: 'No payment for this commodity has this nonce, so there is no proof of payment. Do not deliver.',
    causes: [
      '`hash` in the path is of another commodity than the one that was paid.',
      '`timestamp` does not belong to this nonce. It may be sent in milliseconds or in seconds, or left out.',
      'The visitor made it up, or the payment was made at another service.',
    ],
    fixes: [
      'Send `nonce` and `timestamp` exactly as the payment returned them: `POST /v4/payment/{hash}/validate` with `{nonce, timestamp}`.',
    ],
  },
  nonce_used: {
    meaning: 'The payment is real, and its nonce was validated before. One payment unlocks one thing once.',
    causes: [
      'The seller validates twice, for example once in a middleware and once in the handler.',
      'The visitor reloads the page or shares its address.',
      'A retry after an answer that was lost.',
    ],
    fixes: [
      'Validate once, and remember in your own session what the visitor bought.',
      'Send an `Idempotency-Key` with the call: a retry then gets the first answer.',
      'To look without spending, read `GET /v4/payment/{hash}/validate`.',
    ],
  },
  nonce_expired: {
    meaning: 'The payment is real, and its proof is too old. A nonce lasts 15 minutes. The payment itself stays.',
    causes: ['The seller validated long after the payment.', 'The clock of the sandbox was advanced between the two.'],
    fixes: [
      'Validate as soon as the page gets the `purchase` event.',
      'Find the payment with `GET /v4/commodity/{hash}/transactions`.',
      'In your own service, set `limits.nonceSeconds`.',
    ],
  },
  twin_nonce_refused: {
    meaning: 'The nonce does not prove that the other side holds this twin. It works once, within five minutes.',
    causes: [
      'It was verified before.',
      'It is older than five minutes.',
      '`hostname` is not the twin that created it.',
    ],
    fixes: ['Let the holder create a new one: `POST /v2/twin/nonce`. Verify it with `PUT /v2/twin/nonce`.'],
  },
  insufficient_funds: {
    meaning:
      "The payer's wallet has too little of this digital quantity. Nothing was moved. Value that is held for a pending purchase cannot be spent.",
    causes: [
      'The balance is too low.',
      'The payer has value in another digital quantity.',
      'The payer has no twin at all.',
      'The payment comes from another twin than expected: without `hostname`, it is the primary one.',
    ],
    fixes: [
      'Read `balances` with `GET /v4/twins`.',
      'Top up: `POST /v4/twin/{hostname}/topup`. In a sandbox, `POST /_sandbox/fund` or `service.sandbox.fund(…)`.',
    ],
  },
  same_twin: {
    meaning: 'Payer and payee are one wallet, so nothing would move.',
    causes: [
      'A seller tries to buy their own article with the same twin.',
      'A transfer goes to the address of its sender.',
    ],
    fixes: ['Pay from another twin: send its `hostname`. In tests, make a user of their own as the payer.'],
  },
  price_changed: {
    meaning:
      'The request says which price the payer saw, and the price is another now. Nothing was charged. The fields have the current price.',
    causes: [
      'The seller changed the price after your page was loaded.',
      '`cost` or `price` is of another item, or `dq` of another digital quantity.',
      'A line of a cart costs more or less than when it was added.',
    ],
    fixes: [
      'Show the new `price` and `dq` to the payer, and repeat the call with them.',
      'For a cart, read `lines`. `accept_prices: true` accepts whatever they cost.',
      'A checkout link is for one price: create a new one with `POST /v4/checkout`.',
    ],
  },
  payment_denied: {
    meaning: 'The user was asked for this payment and said no. No value was moved.',
    causes: ['The user rejected it on a device or behind a mailed link.', 'In a sandbox, the phone is set to reject.'],
    fixes: ['Show the user what the payment is for, and start again only if they ask for it.'],
  },
  payback_only: {
    meaning: 'This commodity pays its readers instead of charging them.',
    causes: ['A payment element or a program uses the commodity of a payback element.'],
    fixes: [
      'Call `POST /v4/payback/{hash}`, or show the payback element.',
      'To sell it, turn that off: `PUT /v4/commodity/{hash}/payback` with `enabled: false`.',
    ],
  },
  payback_refused: {
    meaning: 'Only a commodity whose seller has turned it on pays its readers.',
    causes: ['The commodity was created without `payback: true`.', 'Its seller has turned it off.'],
    fixes: [
      'The seller calls `PUT /v4/commodity/{hash}/payback` with `enabled: true`, or creates a commodity with `payback: true`.',
    ],
  },
  payback_taken: {
    meaning: 'A commodity pays each user once, and this user has been paid.',
    causes: [
      'The page offers the payback again after a reload.',
      'A retry after an answer that was lost, without an `Idempotency-Key`.',
    ],
    fixes: ['Look for the payment with `GET /v4/payments`.', 'Pay for something else with another commodity.'],
  },
  sold_by_item: {
    meaning: 'A commodity either is sold or pays its readers. A catalog item sells this one, so it stays as it is.',
    causes: ['`PUT /v4/commodity/{hash}/payback` names the commodity that an item created for itself.'],
    fixes: ['Create another commodity with `payback: true`.'],
  },
  not_invited: {
    meaning: 'The amount waits for the person with the invited email address. The sender cannot claim it.',
    causes: ['The sender follows their own invitation.'],
    fixes: ['Take it back with `POST /v4/transfers/{id}/cancel`, or let the invited person sign in and claim it.'],
  },
  transfer_settled: {
    meaning: 'The transfer has ended: it was claimed or taken back. Nothing was moved now.',
    causes: [
      'Someone else was faster: the recipient claimed it, or the sender cancelled it.',
      'The call was repeated.',
    ],
    fixes: ['Read its `status` with `GET /v4/transfers/{id}`.'],
  },
  transfer_expired: {
    meaning: 'An invitation lasts 30 days. Nobody claimed this one, so the amount is back with its sender.',
    causes: ['The recipient opened the mail too late.', 'The clock of the sandbox was advanced by more than 30 days.'],
    fixes: ['Send it again with `POST /v4/transfer`.'],
  },
  card_declined: {
    meaning:
      "The card's bank refused. Nothing was charged, and nothing was sold. `reason` has what the processor says.",
    causes: [
      'The card has expired, or has too little on it.',
      'The bank wants its holder to confirm.',
      'A test used a payment method that always declines, such as `pm_card_chargeDeclined`.',
    ],
    fixes: [
      'Use another `payment_method_id`.',
      'In a sandbox, `GET /_sandbox/test-values` says what each test card does.',
    ],
  },
  card_minimum: {
    meaning: 'Card processors charge whole cents, and at least 0.50. Nothing was charged.',
    causes: ['The price is below 0.50.', 'The price has a third decimal.'],
    fixes: ['Pay from a wallet: top up once with `POST /v4/twin/{hostname}/topup`, then pay many small prices.'],
  },
  card_required: {
    meaning: 'A paid plan is charged every month, and the account has no card. The plan stays as it is.',
    causes: ['`PUT /v4/billing/plan` came without `payment_method_id`, and no card was saved before.'],
    fixes: ['Send `payment_method_id` with the plan, or save a card first with `PUT /v4/billing/card`.'],
  },
  processor_failed: {
    meaning:
      'The card processor gave no usable answer. `outcome` says whether the card may still be charged: `failed` means no, `unknown` means perhaps.',
    causes: [
      'The service has no card processor: it was created without `cards` and is no sandbox.',
      'The processor is down or answered too late.',
    ],
    fixes: [
      'With `outcome: "unknown"`, do not charge another card. farthing asks again by itself: read the checkout, the invoice or `GET /v4/events` shortly.',
      'With `outcome: "failed"`, try again later.',
      'In your own service, pass `cards`, such as `stripeCards(…)` of `farthing/stripe`.',
    ],
  },
  too_many_declines: {
    meaning:
      'Ten cards were declined within 15 minutes for one user, account or link, or for the guests at one public address, or 100 for all guests of one seller. This card was not tried, so that nobody tests stolen cards here.',
    causes: [
      'A form retries a declined card.',
      'Someone tries card numbers.',
      'An account lets users that it made, and whose address nobody has proven, try cards. They count together.',
    ],
    fixes: ['Wait as long as `Retry-After` says. Pay from a wallet meanwhile.'],
  },
  too_many_charges: {
    meaning:
      'Twenty charges of one user, account or link have no outcome yet, or 200 of the guests of one seller. This card was not tried. Each charge reserves what it will issue, so nobody may have more of them.',
    causes: [
      'Many cards are being charged at this moment.',
      'The card processor does not say whether it charged the cards. farthing asks again for up to three days.',
    ],
    fixes: [
      'Wait as long as `Retry-After` says, and send the same call again.',
      'Read what is open with `GET /v4/payments` or `GET /v4/events`. Do not top up again for a payment that is pending.',
    ],
  },
} satisfies ErrorTexts
