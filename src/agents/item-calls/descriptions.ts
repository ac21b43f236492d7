import type { TextsOf } from '../../http/openapi/texts.js'
import type { itemCallRoutes } from './routes.js'

const PAYS =
  'Anybody may call this. Without a payment it answers 402 with what the call costs: `PAYMENT-REQUIRED` for x402 version 2, and the body for version 1. Send the signed payment in `PAYMENT-SIGNATURE` or `X-PAYMENT`. If the endpoint fails, the payment is reversed and the signature can pay again. A payment that is named by the extension `payment-identifier`, or by an `Idempotency-Key`, gets the same content when it is sent again, and pays once.'

export const itemCallTexts: TextsOf<typeof itemCallRoutes> = {
  operations: {
    callCatalogItem: `${PAYS} The body has the arguments of the item.`,
    callCatalogItemByGet: `${PAYS} The query has the arguments of the item. Give a list as one parameter for each of its values.`,
  },
  fields: { id: 'The id of the catalog item.' },
}
