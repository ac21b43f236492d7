import { accountChoices } from './account-choice-row.js'
import { accountChanges } from './changes/change-row.js'

export const agentFeature = {
  areas: ['agent', 'agents'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [accountChanges, accountChoices],
}
