import { hopsIn } from '../../base/via.js'
import { IdPath, listing, quoteFields, ReceiptShape, z } from '../../http/fields/schema.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { createPurchase } from './fulfilment.js'
import { listPurchases, readPurchase } from './receipt.js'

const refusals = [
  ...(['not_found', 'not_owner', 'item_inactive', 'price_changed', 'too_many_hops', 'too_many_calls'] as const),
  ...(['arguments_refused', 'schema_refused'] as const),
  ...ERRORS.approval,
  ...ERRORS.delegate,
  ...(['insufficient_funds', 'same_twin', 'parameter_unreadable', 'upstream_failed'] as const),
] as const

const listed = { evidence: 'designed', versions: ['v4'], auth: ['account', 'user', 'session', 'agent'] } as const

export const purchaseRoutes = defineRoutes('purchases', {
  createPurchase: route({
    summary: 'Buy a catalog item. The receipt contains the answer of its endpoint.',
    ...listed,
    method: 'POST',
    path: '/catalog/items/:id/purchases',
    auth: ['user', 'session', 'agent', 'account', 'embed'],
    params: IdPath,
    body: z.object({
      arguments: z.optional(z.record(z.string(), z.unknown())),
      hostname: z.optional(z.Hostname),
      ...quoteFields,
      approval_id: z.optional(z.TextId),
      persona_delegate: z.secret(z.optional(z.string())),
      public_secret: z.optional(z.string()),
    }),
    bodyOptional: true,
    status: 201,
    result: ReceiptShape,
    errors: refusals,
    idempotent: true,
    handle: ({ params, body, principal, headers, storeAnswer }, service) => {
      const { arguments: args = {}, hostname, price, dq, approval_id: approvalId, persona_delegate: delegate } = body
      const caller = { party: principal, hostname, approvalId, delegate }
      const order = { ...caller, itemId: params.id, args, seen: { price, dq }, hops: hopsIn(headers) }
      return createPurchase(order, service, storeAnswer)
    },
  }),
  listPurchases: route({
    summary: 'List what the caller bought or sold, newest first, without the delivered content.',
    ...listed,
    path: '/purchases',
    ...listing('purchases', ReceiptShape),
    read: (tx, { query, principal }, service) => listPurchases(tx, principal.owner, query, service),
  }),
  readPurchase: route({
    summary: 'Read a receipt as its buyer or seller. Only the buyer sees the delivered content.',
    ...listed,
    method: 'GET',
    path: '/purchases/:id',
    params: IdPath,
    result: ReceiptShape,
    errors: ['not_found'],
    read: (tx, { params, principal }, service) => readPurchase(tx, principal.owner, params.id, service),
  }),
})
