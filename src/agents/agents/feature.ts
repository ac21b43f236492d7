import { accountChanges, accountChoices } from './changes/account-row.js'

export const agentFeature = {
  areas: ['agent', 'agents'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [accountChanges, accountChoices],
}
