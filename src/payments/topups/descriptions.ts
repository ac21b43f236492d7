import type { TextsOf } from '../../http/openapi/texts.js'
import type { topupRoutes } from './routes.js'

export const topupTexts: TextsOf<typeof topupRoutes> = {
  operations: {
    createTopup:
      "For the twin's owner. The card is charged first, then value is issued. Send an `Idempotency-Key`, so that a retry never charges twice. An unknown outcome settles by itself.",
  },
  fields: {
    dq: 'The hash of the digital quantity. Default: that of the twin.',
    balances: 'The balances of the twin after the top-up, by the hash of the digital quantity.',
  },
}
