import { catalogCounts, catalogItems, catalogWords } from './item-row.js'
import { dispatchParameters } from './parameter.js'

export const catalogFeature = {
  areas: ['catalog'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [catalogItems, catalogWords, catalogCounts, dispatchParameters],
}
