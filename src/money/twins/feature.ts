import { twinNames, twinNonces, twins } from './twin.js'

export const twinFeature = {
  areas: ['twin', 'twins'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [twins, twinNames, twinNonces],
}
