import type { TextsOf } from '../../http/openapi/texts.js'
import type { paywallRoutes } from './routes.js'

/** Who pays in the request itself. */
const PAYS =
  '\n\nWithout credentials (no token, session or `public_secret`) the call can pay for itself, by x402 or MPP. It answers 402 with the offers: `PAYMENT-REQUIRED`, the body for version 1 of x402, and `WWW-Authenticate: Payment`. The same call with the signed payment in `PAYMENT-SIGNATURE`, `X-PAYMENT` or `Authorization` is paid from the wallet of the signer. The caller names the payee by `destination`, or by the endpoint of a catalog item as `serviceUrl`. A call that cannot be offered, or that names a `persona_delegate` or an `approval_id`, is refused with 401 as ever. If the service fails, the signature can pay again. A payment that is named by the extension `payment-identifier`, or by an `Idempotency-Key`, pays once and gets the same answer for a day.'

export const paywallTexts: TextsOf<typeof paywallRoutes> = {
  operations: {
    callPaywall:
      'For a user. A session or page waits for the second factor of its user; an agent sends an `approval_id`; accounts and embeds send a `persona_delegate`. The amount is held, the service is called, and the payment is posted if the service answers below 500 and not 402, else reversed. A payer causes at most 20,000 calls of one host a day. Send an `Idempotency-Key`, so that a retry does not pay twice.' +
      PAYS,
  },
  fields: {
    dq: 'The hash of the digital quantity. Default: that of the limit of the `persona_delegate`, or of the twin that pays, or USDC for a payment in the request.',
    serviceUrl: 'The URL of the service to call. Absent: farthing only takes the payment.',
    destination: "The hostname of the payee's twin. Default: the seller of the item whose endpoint is `serviceUrl`.",
    approved: 'Always true.',
  },
}
