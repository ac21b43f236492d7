import { digitalQuantities } from './digital-quantity.js'

export const digitalQuantityFeature = {
  areas: ['dq', 'twin'],
  load: async () => (await import('./routes.js')).digitalQuantityRoutes,
  describe: async () => (await import('./descriptions.js')).digitalQuantityTexts,
  collections: [digitalQuantities],
}
