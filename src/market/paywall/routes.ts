import { Amount, ContentHash, UnixSeconds, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { createMerchantPayment } from './merchant-payment.js'

const merchantRefusals = [
  ...(['not_found', 'dq_unknown', 'amount_invalid', 'same_twin', 'insufficient_funds', 'payment_denied'] as const),
  ...(['approval_timeout', 'too_many_pending', 'too_many_mails'] as const),
] as const
export const merchantPaymentRoutes = defineRoutes('paywall', {
  createMerchantPayment: route({
    summary:
      'Pay the twin at a destination, once the user approves it. The call waits up to 30 seconds. An approval stands for later payments to the same twin, each up to the same amount, until it is revoked or expires.',
    evidence: 'observed',
    method: 'POST',
    path: '/paywall',
    versions: ['v3'],
    auth: ['session', 'page'],
    takesBareCookie: true,
    body: z.object({
      paymentTypeHash: ContentHash,
      amount: Amount,
      destinationUrl: z.string(),
      merchantName: z.optional(z.nullable(z.string())),
    }),
    result: z.object({
      ...{ status: z.literal('success'), transaction_id: z.Id, amount: Amount, merchant: z.string() },
      timestamp: UnixSeconds,
    }),
    errors: merchantRefusals,
    idempotent: true,
    handle({ body, principal, session, storeAnswer }, service) {
      const { paymentTypeHash: dq, amount, destinationUrl, merchantName } = body
      const order = {
        payer: principal.owner,
        userId: principal.kind === 'page' ? principal.user_id : principal.id,
        sessionId: session?.id ?? '',
        page: principal.kind === 'page' ? { sellerId: principal.account_id, origin: principal.origin } : undefined,
        ...{ dq, amount, destinationUrl, merchantName: merchantName ?? undefined },
      }
      return createMerchantPayment(order, service, storeAnswer)
    },
  }),
})
