import { BILLING_PERIOD_ENDS, BILLING_RETRY, billingProfiles, invoices } from './invoice-row.js'

export const billingFeature = {
  areas: ['billing'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [billingProfiles, invoices],
  timers: {
    [BILLING_PERIOD_ENDS]: async () => (await import('./renewal.js')).endPeriod,
    [BILLING_RETRY]: async () => (await import('./renewal.js')).retryInvoice,
  },
}
