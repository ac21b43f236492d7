import { PHONE_ANSWERS, phones } from './phone.js'
import { authenticationRequests } from './request.js'
import { standingApprovals } from './standing-approval.js'

export const secondFactorFeature = {
  areas: ['authentication-requests', 'paywall'],
  load: async () => (await import('./routes.js')).secondFactorRoutes,
  describe: async () => (await import('./descriptions.js')).secondFactorTexts,
  collections: [authenticationRequests, standingApprovals, phones],
  timers: {
    [PHONE_ANSWERS]: async () => (await import('./answer.js')).answerAsPhone,
  },
}
