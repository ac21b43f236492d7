import type { TextsOf } from '../../http/openapi/texts.js'
import type { paywallRoutes } from './routes.js'

export const paywallTexts: TextsOf<typeof paywallRoutes> = {
  operations: {
    createMerchantPayment:
      'For a user, by session. The payee is the twin that `destinationUrl` leads to. The call waits up to 30 seconds for the second factor of the user, unless they approved such a payment before. A page session waits every time.',
    callPaywall:
      'For a user. A session or page waits for the second factor of its user; an agent sends an `approval_id`; accounts and embeds send a `persona_delegate`. The amount is held, the service is called, and the payment is posted if the service answers below 500, else reversed. A payer causes at most 20,000 calls of one host a day. Send an `Idempotency-Key`, so that a retry does not pay twice.',
  },
  fields: {
    dq: 'The hash of the digital quantity. Default: that of the limit of the `persona_delegate`, or of the twin that pays.',
    serviceUrl: 'The URL of the service to call. Absent: farthing only takes the payment.',
    destination: "The hostname of the payee's twin. Default: the seller of the item whose endpoint is `serviceUrl`.",
    approved: 'Always true.',
    paymentTypeHash: 'The hash of the digital quantity.',
    destinationUrl: "The hostname, address or URL of the payee's twin, or the endpoint of a catalog item.",
    merchantName: 'A name for the payee. The user sees it as your words, in quotes.',
    transaction_id: 'The id of the payment.',
    merchant: 'The name of the payee.',
  },
}
