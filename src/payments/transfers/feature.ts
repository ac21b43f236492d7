import { expireTransfer } from './invitation.js'
import { TRANSFER_EXPIRES, transfers } from './transfer.js'

export const transferFeature = {
  areas: ['transfer', 'transfers'],
  load: async () => (await import('./routes.js')).transferRoutes,
  describe: async () => (await import('./descriptions.js')).transferTexts,
  collections: [transfers],
  timers: {
    [TRANSFER_EXPIRES]: async () => expireTransfer,
  },
}
