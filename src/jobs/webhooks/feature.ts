import { webhookDeliveries, webhookProgress, webhooks } from './webhook-row.js'

export const webhookFeature = {
  areas: ['webhooks'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [webhooks, webhookDeliveries, webhookProgress],
}
