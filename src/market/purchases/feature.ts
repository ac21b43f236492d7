import { purchaseResponses, purchases } from './receipt-row.js'

export const purchaseFeature = {
  areas: ['catalog', 'purchases'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [purchases, purchaseResponses],
}
