import { delegates } from './delegate.js'
import { personas } from './persona.js'
import { delegateSpendings } from './spending.js'

export const personaFeature = {
  areas: ['persona'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [personas, delegates, delegateSpendings],
}
