import { twinNames, twins } from './twin.js'
import { twinNonces } from './twin-nonce.js'

export const twinFeature = {
  areas: ['twin', 'twins'],
  load: async () => (await import('./routes.js')).twinRoutes,
  describe: async () => (await import('./descriptions.js')).twinTexts,
  collections: [twins, twinNames, twinNonces],
}
