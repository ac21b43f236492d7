import { purchaseResponses, purchases } from './receipt-row.js'

export const purchaseFeature = {
  areas: ['catalog', 'purchases'],
  load: async () => (await import('./routes.js')).purchaseRoutes,
  describe: async () => (await import('./descriptions.js')).purchaseTexts,
  collections: [purchases, purchaseResponses],
}
