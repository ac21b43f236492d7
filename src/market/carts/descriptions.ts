import type { TextsOf } from '../../http/openapi/texts.js'
import type { cartRoutes } from './routes.js'

export const cartTexts: TextsOf<typeof cartRoutes> = {
  operations: {
    createCart: 'Anybody may call this: without a token, the session owns the cart. It starts empty.',
    readCart: 'For the owner of the cart. Anybody else gets `not_found`.',
    deleteCart: 'For the owner of the cart.',
    addCartItem:
      'For the owner of the cart. A cart holds up to 50 lines. Send an `Idempotency-Key`, so that a retry adds no second line.',
    updateCartItem: 'For the owner of the cart. Omitted fields stay unchanged.',
    deleteCartItem: 'For the owner of the cart.',
    payCart:
      'For the owner of the cart, signed in. It holds the whole sum or nothing. Send an `Idempotency-Key`, or just repeat the call: a cart is never paid twice. It makes up to 500 purchases; free ones count against 300 calls of a payer at one host in 15 minutes.',
  },
  fields: {
    id: 'The id of the cart.',
    hostname: "One of the payer's twins. Default: the primary one.",
    accept_prices: 'Whether to pay prices that have changed since the items were added.',
    lines: 'The lines that the payer saw. If any has changed, nothing is charged.',
    'lines.price': 'The price of one, as the payer saw it.',
    'lines.dq': 'The hash of the digital quantity that the payer saw.',
  },
  components: {
    Cart: {
      is: 'Items that are paid together.',
      status: '`open` until it is paid. Then `paid`, or `partly_paid` or `failed` if lines were reversed.',
      items: 'The lines.',
      totals: 'The sum for each digital quantity, by its hash.',
    },
    CartLine: {
      is: 'One item in a cart.',
      name: 'The name of the item.',
      price: 'The price of one, in the digital quantity.',
      status: 'The status of the line.',
      receipts: 'One receipt for each bought item.',
    },
  },
}
