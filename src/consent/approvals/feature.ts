import { APPROVAL_EXPIRES, approvals, expireApproval } from './approval.js'
import { agentSettings } from './settings.js'

export const approvalFeature = {
  areas: ['approvals', 'agent'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [approvals, agentSettings],
  timers: { [APPROVAL_EXPIRES]: async () => expireApproval },
}
