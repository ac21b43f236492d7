import { allDesigned, designed } from '../../http/fields/graded.js'
import {
  Amount,
  component,
  HashPath,
  IdPath,
  listing,
  PaymentShape,
  paymentShape,
  QuotedAmount,
  quoteFields,
  UnixSeconds,
  z,
} from '../../http/fields/schema.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { createPayback } from './payback.js'
import {
  createPayment,
  listCommodityTransactions,
  listPayments,
  readPayment,
  readPaymentNonce,
  validatePayment,
} from './payment.js'

const ProvablePayment = component('ProvablePayment', {
  ...paymentShape,
  nonce: z.secret(z.string()),
  timestamp: UnixSeconds,
})

/** Like `quoteFields`, but a commodity calls its price `cost`. */
const seenCost = allDesigned({ cost: z.optional(QuotedAmount), dq: quoteFields.dq })
const proofShape = { nonce: z.secret(z.string()), timestamp: z.optional(z.union([z.number(), z.string()])) }
const Origin = z.string().check(z.maxLength(255), z.regex(/^https?:\/\/[^\s/?#@]+$/, 'the origin of a page'))
const observed = { evidence: 'observed', versions: ['v4', 'v2'], params: HashPath } as const
const proof = { ...observed, path: '/payment/:hash/validate', auth: ['account'] } as const
const owned = { evidence: 'designed', method: 'GET', versions: ['v4'], auth: ['account', 'user', 'session'] } as const

export const paymentRoutes = defineRoutes('payments', {
  createPayment: route({
    summary: 'Pay for a commodity. The answer contains the nonce that the seller validates.',
    ...observed,
    method: 'POST',
    path: '/payment/:hash',
    auth: ['user', 'session', 'account', 'agent', 'embed'],
    body: z.object({
      hostname: designed(z.optional(z.Hostname)),
      ...seenCost,
      persona_delegate: designed(z.secret(z.optional(z.string()))),
      public_secret: designed(z.optional(z.string())),
    }),
    bodyOptional: true,
    status: 202,
    result: ProvablePayment,
    errors: [
      ...(['not_found', 'not_owner', 'payback_only', 'item_inactive', 'price_changed'] as const),
      ...[...ERRORS.delegate, 'insufficient_funds' as const],
    ],
    idempotent: true,
    write(tx, { params: { hash }, body, principal: party }, service) {
      const { hostname, persona_delegate: delegate, cost: price, dq } = body
      const order = { hash, party, delegate, hostname, seen: { price, dq } }
      return createPayment(tx, { ...order, at: service.clock.now() }, service)
    },
  }),
  createPayback: route({
    summary:
      "Consent, and get a commodity's price from its seller. This works once. The answer contains the nonce that the seller validates.",
    evidence: 'designed',
    method: 'POST',
    path: '/payback/:hash',
    versions: ['v4'],
    auth: ['user', 'session'],
    params: HashPath,
    body: z.object({
      consent: z.optional(z.array(z.string().check(z.maxLength(2000))).check(z.maxLength(20))),
      origin: z.optional(Origin),
      ...seenCost,
    }),
    bodyOptional: true,
    status: 202,
    result: ProvablePayment,
    errors: ['not_found', 'payback_refused', 'email_unproven', 'payback_taken', 'price_changed', 'insufficient_funds'],
    idempotent: true,
    write(tx, { params: { hash }, body: { consent = [], origin = null, cost: price, dq }, principal }, service) {
      const order = { hash, reader: principal.owner, consent, origin, seen: { price, dq } }
      return createPayback(tx, { ...order, at: service.clock.now() }, service)
    },
  }),
  validatePayment: route({
    summary: "Spend the nonce of a payment for one of the caller's commodities.",
    ...proof,
    method: 'POST',
    body: z.object(proofShape),
    result: z.object({ valid: designed(z.literal(true)), payment: designed(PaymentShape) }),
    errors: ['not_found', 'not_owner', 'nonce_unknown', 'nonce_used', 'nonce_expired'],
    idempotent: true,
    write: (tx, { params, body, principal }, { clock }) =>
      validatePayment(tx, { ...params, ...body, seller: principal.owner }, clock.now()),
  }),
  readPaymentNonce: route({
    summary: 'Read the nonce of a payment without spending it.',
    ...proof,
    method: 'GET',
    query: z.object(proofShape),
    result: z.object(
      allDesigned({
        created_at: UnixSeconds,
        expires_at: UnixSeconds,
        used_at: z.nullable(UnixSeconds),
        twin_id: z.Id,
        nonce: z.secret(z.string()),
        cost: Amount,
      }),
    ),
    errors: ['not_found', 'not_owner'],
    read: (tx, { params, query, principal }) => readPaymentNonce(tx, { ...params, ...query, seller: principal.owner }),
  }),
  listPayments: route({
    summary: 'List the payments that the caller made or received, newest first.',
    ...owned,
    path: '/payments',
    ...listing('payments', PaymentShape),
    read: (tx, { query, principal }) => listPayments(tx, principal.owner, query),
  }),
  readPayment: route({
    summary: 'Read a payment that the caller made or received.',
    ...owned,
    path: '/payments/:id',
    params: IdPath,
    result: PaymentShape,
    errors: ['not_found'],
    read: (tx, { params, principal }) => readPayment(tx, principal.owner, params.id),
  }),
  listCommodityTransactions: route({
    summary: "List the payments for one of the caller's commodities, newest first.",
    evidence: 'observed',
    path: '/commodity/:hash/transactions',
    versions: ['v4'],
    auth: ['account'],
    params: HashPath,
    ...listing('transactions', PaymentShape),
    errors: ['not_found', 'not_owner', 'cursor_invalid'],
    wholeList: 'transactions',
    read: (tx, { params, query, principal }) => listCommodityTransactions(tx, principal.owner, params.hash, query),
  }),
})
