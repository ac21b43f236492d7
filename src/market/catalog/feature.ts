import { catalogCounts, catalogItems, catalogWords } from './item-row.js'
import { dispatchParameters } from './parameter.js'

export const catalogFeature = {
  areas: ['catalog'],
  load: async () => (await import('./routes.js')).catalogRoutes,
  describe: async () => (await import('./descriptions.js')).catalogTexts,
  collections: [catalogItems, catalogWords, catalogCounts, dispatchParameters],
}
