import { Amount, ContentHash, PaymentMethodId, PaymentShape, z } from '../../http/fields/schema.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { createTopup } from './topup.js'

export const topupRoutes = defineRoutes('top-ups', {
  createTopup: route({
    summary: "Charge a card and issue the value to one of the caller's twins.",
    evidence: 'designed',
    method: 'POST',
    path: '/twin/:hostname/topup',
    versions: ['v4'],
    auth: ['account', 'user', 'session'],
    params: z.object({ hostname: z.Hostname }),
    body: z.object({ amount: Amount, payment_method_id: PaymentMethodId, dq: z.optional(ContentHash) }),
    status: 201,
    result: z.object({ payment: PaymentShape, balances: z.record(z.string(), Amount) }),
    errors: ['not_found', 'not_owner', 'dq_unknown', 'amount_invalid', ...ERRORS.card],
    idempotent: true,
    refusesCardData: true,
    handle: ({ params, body, principal, storeAnswer }, service) => {
      const { amount, payment_method_id: paymentMethodId, dq } = body
      const order = { owner: principal.owner, hostname: params.hostname, amount, paymentMethodId, dq }
      return createTopup(order, service, storeAnswer)
    },
  }),
})
