import { accounts, memberships, sellerWords } from './account.js'

export const accountFeature = {
  areas: ['account'],
  load: async () => (await import('./routes.js')).accountRoutes,
  describe: async () => (await import('./descriptions.js')).accountTexts,
  collections: [accounts, memberships, sellerWords],
}
