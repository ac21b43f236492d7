import type { TextsOf } from '../../http/openapi/texts.js'
import type { commodityRoutes } from './routes.js'

export const commodityTexts: TextsOf<typeof commodityRoutes> = {
  operations: {
    createCommodity:
      "For the access token of an account. The twin must be the account's. Send an `Idempotency-Key`, so that a retry does not create a second one.",
    readCommodity: 'Anybody may call this.',
    updatePayback:
      'For the access token of the account that sells the commodity. While it is on, nobody can pay for the commodity, and each user gets the price once. Validation accepts the nonce of a payback only while it is on.',
    listCommodities: 'For the access token of an account.',
  },
  fields: {
    hash: 'The hash of the commodity.',
    twin_id: 'The id of the twin that sells it.',
    payback: 'Whether the seller pays the price to users for their consent.',
    enabled: 'Whether the seller pays the price to users.',
    embed: 'In the query: whether to return the HTML of a payment button. In the answer: that HTML.',
    commodities: 'The commodities, newest first.',
    hostname: 'The hostname of the twin that sells it.',
    descriptor: 'The line on the receipt, such as `ACME.NEWS.ARTICLE`.',
  },
  components: { Commodity: { is: 'Something that a twin sells for a price.' } },
}
