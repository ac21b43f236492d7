import { accountChoices } from './account-choice-row.js'
import { accountChanges } from './changes/change-row.js'

export const agentFeature = {
  areas: ['agent', 'agents'],
  load: async () => (await import('./routes.js')).agentRoutes,
  describe: async () => (await import('./descriptions.js')).agentTexts,
  collections: [accountChanges, accountChoices],
}
