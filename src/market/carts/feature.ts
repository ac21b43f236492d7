import { cartLines, carts } from './cart.js'

export const cartFeature = {
  areas: ['carts'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [carts, cartLines],
}
