import { takeOverLate } from '../../jobs/flows/flow.js'
import { heldCalls, heldPayments } from './held-payment.js'
import { paybacks } from './payback.js'
import { payments } from './payment.js'

export const paymentFeature = {
  areas: ['payment', 'payments', 'payback', 'commodity'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [payments, paybacks, heldCalls],
  timers: { [heldPayments.timer]: async () => takeOverLate(heldPayments) },
}
