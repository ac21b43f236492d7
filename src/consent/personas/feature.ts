import { delegates } from './delegate.js'
import { personas } from './persona.js'
import { delegateSpendings } from './spending.js'

export const personaFeature = {
  areas: ['persona'],
  load: async () => (await import('./routes.js')).personaRoutes,
  describe: async () => (await import('./descriptions.js')).personaTexts,
  collections: [personas, delegates, delegateSpendings],
}
