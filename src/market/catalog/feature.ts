import { catalogItems } from './item-row.js'
import { catalogCounts, catalogWords } from './item-words.js'
import { dispatchParameters } from './parameter-row.js'

export const catalogFeature = {
  areas: ['catalog'],
  load: async () => (await import('./routes.js')).catalogRoutes,
  describe: async () => (await import('./descriptions.js')).catalogTexts,
  collections: [catalogItems, catalogWords, catalogCounts, dispatchParameters],
}
