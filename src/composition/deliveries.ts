import type { DeliveryHandlers } from '../jobs/outbox/delivery.js'

export const deliveryHandlers: DeliveryHandlers = {
  mail: async () => (await import('../identity/users/mail-delivery.js')).mailDeliveryHandler,
  push: async () => (await import('../consent/notifications/push.js')).pushDeliveryHandler,
  card: async () => (await import('./card-deliveries.js')).cardDeliveries,
  refund: async () => (await import('./card-deliveries.js')).refundDeliveries,
  webhook: async () => (await import('./webhook-deliveries.js')).webhookDeliveryHandler,
}
