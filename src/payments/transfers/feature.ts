import { expireTransfer, TRANSFER_EXPIRES, transfers } from './transfer.js'

export const transferFeature = {
  areas: ['transfer', 'transfers'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [transfers],
  timers: { [TRANSFER_EXPIRES]: async () => expireTransfer },
}
