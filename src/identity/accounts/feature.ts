import { accounts, memberships, sellerWords } from './account.js'

export const accountFeature = {
  areas: ['account'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [accounts, memberships, sellerWords],
}
