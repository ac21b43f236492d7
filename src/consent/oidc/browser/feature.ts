import { oidcInteractions } from './interaction-row.js'

export const oidcBrowserFeature = {
  areas: ['oidc'],
  load: async () => (await import('./routes.js')).oidcBrowserRoutes,
  describe: async () => (await import('./descriptions.js')).oidcBrowserTexts,
  collections: [oidcInteractions],
}
