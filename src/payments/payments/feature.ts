import { takeOverLate } from '../../jobs/flows/takeover.js'
import { heldCalls, heldPayments } from './held-payment.js'
import { paybacks } from './payback.js'
import { payments } from './payment.js'

export const paymentFeature = {
  areas: ['payment', 'payments', 'payback', 'commodity'],
  load: async () => (await import('./routes.js')).paymentRoutes,
  describe: async () => (await import('./descriptions.js')).paymentTexts,
  collections: [payments, paybacks, heldCalls],
  timers: {
    [heldPayments.timer]: async () => takeOverLate(heldPayments),
  },
}
