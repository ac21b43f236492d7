import { Amount, ContentHash, component, IdPath, PageQuery, pageOf, z } from '../../../http/fields/schema.js'
import { defineRoutes, route } from '../../../http/route.js'
import { listCheckoutRefunds, outcomes, settleCheckoutRefund } from './settle.js'

const Refund = component('CheckoutRefund', {
  id: z.Id,
  checkout_id: z.Id,
  catalog_item_id: z.Id,
  name: z.string(),
  amount: Amount,
  dq: ContentHash,
  status: z.enum(['refused', 'unknown']),
  reason: z.nullable(z.string()),
  charge_id: z.nullable(z.TextId),
  refund_id: z.nullable(z.TextId),
  payer: z.enum(['user', 'guest']),
  email: z.nullable(z.string()),
})

const Outcome = z.enum(outcomes)

export const checkoutRefundRoutes = defineRoutes('checkout', {
  listCheckoutRefunds: route({
    summary:
      "List the failed refunds of the caller's sales, newest first. farthing keeps their value until you settle them.",
    evidence: 'designed',
    method: 'GET',
    path: '/checkout/refunds',
    versions: ['v4'],
    auth: ['account'],
    query: PageQuery,
    result: pageOf('refunds', Refund),
    read: (tx, { query, principal }) => listCheckoutRefunds(tx, principal.id, query),
  }),

  settleCheckoutRefund: route({
    summary:
      'Settle a failed refund. `returned`: the payer has the money. `wallet`: credit the wallet of the payer. `again`: ask the card processor again.',
    evidence: 'designed',
    method: 'POST',
    path: '/checkout/refunds/:id/settle',
    versions: ['v4'],
    auth: ['account'],
    params: IdPath,
    body: z.object({ outcome: Outcome }),
    result: z.object({ id: z.Id, outcome: Outcome }),
    errors: ['not_found', 'refund_settled', 'refund_outcome_refused'],
    idempotent: true,
    write: (tx, { params, body, principal }, service) =>
      settleCheckoutRefund(tx, { accountId: principal.id, id: params.id, outcome: body.outcome }, service),
  }),
})
