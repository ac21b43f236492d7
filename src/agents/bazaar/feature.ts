import { listedResources, listingRefusals } from './resource-row.js'

export const bazaarFeature = {
  areas: ['x402'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [listedResources, listingRefusals],
}
