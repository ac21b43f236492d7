import { APPROVAL_EXPIRES, approvals, expireApproval } from './approval.js'
import { agentSettings } from './settings.js'

export const approvalFeature = {
  areas: ['approvals', 'agent'],
  load: async () => (await import('./routes.js')).approvalRoutes,
  describe: async () => (await import('./descriptions.js')).approvalTexts,
  collections: [approvals, agentSettings],
  timers: {
    [APPROVAL_EXPIRES]: async () => expireApproval,
  },
}
