import { oidcInteractions } from './interaction-row.js'

export const oidcBrowserFeature = {
  areas: ['oidc'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [oidcInteractions],
}
