import { takeOverLate } from '../../jobs/flows/flow.js'
import { CHECKOUT_ATTEMPT_ENDS, CHECKOUT_EXPIRES, checkoutCharges, checkouts } from './checkout-row.js'

export const checkoutFeature = {
  areas: ['checkout'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [checkouts, checkoutCharges],
  timers: {
    [CHECKOUT_EXPIRES]: async () => (await import('./attempt.js')).expireCheckout,
    [CHECKOUT_ATTEMPT_ENDS]: async () => takeOverLate((await import('./attempt.js')).checkoutAttempts),
  },
}
