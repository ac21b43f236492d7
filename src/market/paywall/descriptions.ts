import type { TextsOf } from '../../http/openapi/texts.js'
import type { merchantPaymentRoutes } from './routes.js'

export const merchantPaymentTexts: TextsOf<typeof merchantPaymentRoutes> = {
  operations: {
    createMerchantPayment:
      'For a user, by session. The payee is the twin that `destinationUrl` leads to. The call waits up to 30 seconds for the second factor of the user, unless they approved such a payment before. A page session waits every time.',
  },
  fields: {
    paymentTypeHash: 'The hash of the digital quantity.',
    destinationUrl: "The hostname, address or URL of the payee's twin, or the endpoint of a catalog item.",
    merchantName: 'A name for the payee. The user sees it as your words, in quotes.',
    transaction_id: 'The id of the payment.',
    merchant: 'The name of the payee.',
  },
}
