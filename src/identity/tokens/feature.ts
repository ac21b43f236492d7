import { clients, tokens } from './token.js'

export const tokenFeature = {
  areas: ['account', 'user'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [clients, tokens],
}
