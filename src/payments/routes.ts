import { route } from '../http/route.js'
import { Amount, ContentHash, HashPath, IdPath, PageQuery, pageOf, UnixSeconds, z } from '../http/schema.js'
import {
  listPayments as list,
  listTransactions,
  createPayment as pay,
  readPayment as read,
  readNonce,
  spendNonce,
} from './payment.js'

const paymentShape = {
  id: z.int(),
  hash: z.nullable(z.string()),
  descriptor: z.string(),
  dq: ContentHash,
  amount: Amount,
  hostname: z.string(),
  payee_hostname: z.string(),
  kind: z.enum(['payment', 'payback', 'paywall', 'topup']),
  status: z.enum(['pending', 'held', 'posted', 'reversed', 'failed']),
  created_at: UnixSeconds,
}

const Payment = z.object(paymentShape)

const proofShape = { nonce: z.string(), timestamp: z.union([z.number(), z.string()]) }

export const createPayment = route({
  id: 'createPayment',
  summary: 'Pay for a commodity; the answer carries the nonce that its seller validates.',
  evidence: 'observed',
  method: 'POST',
  path: '/payment/:hash',
  versions: ['v4', 'v2'],
  auth: ['user', 'session'],
  params: HashPath,
  body: z.object({ hostname: z.optional(z.string()) }),
  bodyOptional: true,
  status: 202,
  result: z.object({ ...paymentShape, nonce: z.string(), timestamp: z.int() }),
  errors: ['not_found', 'not_owner', 'insufficient_funds'],
  idempotent: true,
  write: (tx, { params, body, principal }, service) =>
    pay(tx, { hash: params.hash, hostname: body.hostname, payer: principal.owner, at: service.clock.now() }, service),
})

export const validatePayment = route({
  id: 'validatePayment',
  summary: "Spend the nonce of a payment made for one of the caller's commodities.",
  evidence: 'observed',
  method: 'POST',
  path: '/payment/:hash/validate',
  versions: ['v4', 'v2'],
  auth: ['account'],
  params: HashPath,
  body: z.object(proofShape),
  result: z.object({ valid: z.literal(true), payment: Payment }),
  errors: ['not_found', 'not_owner', 'nonce_unknown', 'nonce_used', 'nonce_expired'],
  write: (tx, { params, body, principal }, { clock }) =>
    spendNonce(tx, { ...params, ...body, seller: principal.owner }, clock.now()),
})

export const readPaymentNonce = route({
  id: 'readPaymentNonce',
  summary: 'Look at the nonce of a payment without spending it.',
  evidence: 'observed',
  method: 'GET',
  path: '/payment/:hash/validate',
  versions: ['v4', 'v2'],
  auth: ['account'],
  params: HashPath,
  query: z.object(proofShape),
  result: z.object({
    created_at: UnixSeconds,
    expires_at: UnixSeconds,
    used_at: z.nullable(UnixSeconds),
    twin_id: z.int(),
    nonce: z.string(),
    cost: Amount,
  }),
  errors: ['not_found', 'not_owner'],
  read: (tx, { params, query, principal }) => readNonce(tx, { ...params, ...query, seller: principal.owner }),
})

export const listPayments = route({
  id: 'listPayments',
  summary: 'List the payments that the caller made or received, newest first.',
  evidence: 'designed',
  method: 'GET',
  path: '/payments',
  versions: ['v4'],
  auth: ['account', 'user', 'session'],
  query: PageQuery,
  result: pageOf('payments', Payment),
  errors: ['cursor_invalid'],
  read: (tx, { query, principal }) => list(tx, principal.owner, query),
})

export const readPayment = route({
  id: 'readPayment',
  summary: 'Read a payment that the caller made or received.',
  evidence: 'designed',
  method: 'GET',
  path: '/payments/:id',
  versions: ['v4'],
  auth: ['account', 'user', 'session'],
  params: IdPath,
  result: Payment,
  errors: ['not_found'],
  read: (tx, { params, principal }) => read(tx, principal.owner, params.id),
})

export const listCommodityTransactions = route({
  id: 'listCommodityTransactions',
  summary: "List the payments for one of the caller's commodities, newest first.",
  evidence: 'observed',
  method: 'GET',
  path: '/commodity/:hash/transactions',
  versions: ['v4'],
  auth: ['account'],
  params: HashPath,
  query: PageQuery,
  result: pageOf('transactions', Payment),
  errors: ['not_found', 'not_owner', 'cursor_invalid'],
  read: (tx, { params, query, principal }) => listTransactions(tx, principal.owner, params.hash, query),
})

export default [createPayment, validatePayment, readPaymentNonce, listPayments, readPayment, listCommodityTransactions]
