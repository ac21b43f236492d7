import { webhookDeliveries, webhookProgress, webhooks } from './webhook-row.js'

export const webhookFeature = {
  areas: ['webhooks'],
  load: async () => (await import('./routes.js')).webhookRoutes,
  describe: async () => (await import('./descriptions.js')).webhookTexts,
  collections: [webhooks, webhookDeliveries, webhookProgress],
}
