import { twinNames, twins } from './twin.js'
import { twinNonces } from './twin-nonce.js'

export const twinFeature = {
  areas: ['twin', 'twins'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [twins, twinNames, twinNonces],
}
