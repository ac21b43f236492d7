import { paymentIdentifiers } from '../paid-calls/payment-identifier-row.js'

export const x402Feature = {
  areas: ['x402'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [paymentIdentifiers],
}
