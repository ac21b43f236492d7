import { PHONE_ANSWERS, phones } from './phone.js'
import { authenticationRequests } from './request.js'
import { standingApprovals } from './standing-approval.js'

export const secondFactorFeature = {
  areas: ['authentication-requests', 'paywall'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [authenticationRequests, standingApprovals, phones],
  timers: { [PHONE_ANSWERS]: async () => (await import('./answer.js')).answerAsPhone },
}
