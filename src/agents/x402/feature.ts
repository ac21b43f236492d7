import { paymentIdentifiers } from './payment-identifier.js'

export const x402Feature = {
  areas: ['x402'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [paymentIdentifiers],
}
