import type { TextsOf } from '../../http/openapi/texts.js'
import type { purchaseRoutes } from './routes.js'

export const purchaseTexts: TextsOf<typeof purchaseRoutes> = {
  operations: {
    createPurchase:
      'For a user, or an agent with an `approval_id`. Accounts and embeds pay with a `persona_delegate`. The price is held, the endpoint is called, and the payment is posted, or reversed if the endpoint fails. Send an `Idempotency-Key`, so that a retry does not buy twice.',
    listPurchases: 'For the buyer or the seller.',
    readPurchase: 'For the buyer or the seller. Anybody else gets `not_found`.',
  },
  fields: {
    'createPurchase.id': 'The id of the catalog item.',
    'readPurchase.id': 'The `transaction_id` of the receipt.',
    hostname: "One of the payer's twins. Default: the primary one.",
    price: 'The price that the payer saw. If it has changed, nothing is charged.',
    dq: 'The hash of the digital quantity that the payer saw.',
    purchases: 'The receipts, newest first.',
  },
  components: {
    Receipt: {
      is: 'The receipt of a purchase.',
      transaction_id: 'The id of the purchase.',
      name: 'The name of the item.',
      amount: 'What was paid, in the digital quantity.',
      dq: 'The hash of the digital quantity.',
      status: '`held` while it is delivered, then `paid` or `reversed`.',
      commodity_hash: 'The hash of the commodity of the item.',
      response: 'What the endpoint answered. Null for everybody but the buyer, and in lists.',
    },
    DeliveredResponse: {
      is: 'What an endpoint answered.',
      status: 'The HTTP status.',
      content_type: 'The media type. Null: it had none.',
      body: 'The body as text, or as Base64. Null: it is not shown.',
      body_encoding: '`base64` if the body is not text.',
    },
  },
}
