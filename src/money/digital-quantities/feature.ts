import { digitalQuantities } from './digital-quantity.js'

export const digitalQuantityFeature = {
  areas: ['dq', 'twin'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [digitalQuantities],
}
