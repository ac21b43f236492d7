import { clients } from './client.js'
import { tokens } from './token.js'

export const tokenFeature = {
  areas: ['account', 'user'],
  load: async () => (await import('./routes.js')).tokenRoutes,
  describe: async () => (await import('./descriptions.js')).tokenTexts,
  collections: [clients, tokens],
}
