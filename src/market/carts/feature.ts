import { cartLines, carts } from './cart.js'

export const cartFeature = {
  areas: ['carts'],
  load: async () => (await import('./routes.js')).cartRoutes,
  describe: async () => (await import('./descriptions.js')).cartTexts,
  collections: [carts, cartLines],
}
