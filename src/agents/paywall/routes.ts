import { load } from '../../base/parts.js'
import { Problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { hopsIn } from '../../base/via.js'
import { allDesigned } from '../../http/fields/graded.js'
import { Amount, ContentHash, PaymentShape, UnixSeconds, z } from '../../http/fields/schema.js'
import { relayed, reply } from '../../http/reply.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { createMerchantPayment } from '../../market/paywall/merchant-payment.js'
import {
  callPaywall,
  PaywallBody,
  type PaywallOutcome,
  paymentHeaders,
  paywallCaller,
} from '../../market/paywall/paywall.js'

const asking = ['too_many_pending', 'too_many_mails'] as const
const merchantRefusals = [
  ...(['not_found', 'dq_unknown', 'amount_invalid', 'same_twin', 'insufficient_funds', 'payment_denied'] as const),
  ...(['approval_timeout', ...asking] as const),
] as const
const refusals = [
  ...(['not_found', 'dq_unknown', 'amount_invalid', 'destination_unknown', 'item_inactive'] as const),
  ...(['insufficient_funds', ...ERRORS.approval, ...ERRORS.delegate, 'rejected', 'approval_timeout'] as const),
  ...(['same_twin', 'upstream_refused', 'too_many_hops', 'too_many_calls', ...asking, 'upstream_failed'] as const),
] as const

export const paywallRoutes = defineRoutes('paywall', {
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
  callPaywall: route({
    summary: 'Take a payment from a user, call the service that they pay for, and relay its answer.',
    evidence: 'observed',
    method: 'POST',
    path: '/paywall',
    versions: ['v4'],
    auth: ['user', 'session', 'page', 'agent', 'account', 'embed'],
    body: PaywallBody,
    result: z.object(allDesigned({ approved: z.literal(true), payment: PaymentShape })),
    relays: true,
    takesBytes: true,
    errors: [...refusals, 'payment_required', 'header_malformed', 'payment_identifier_mismatch'],
    idempotent: true,
    async handle({ body, principal, session, headers, storeAnswer }, service) {
      const request = requestIn(body)
      const sent = { sessionId: session?.id, delegate: body.persona_delegate, approvalId: body.approval_id }
      const outcome = await callPaywall(
        { ...paywallCaller(principal, sent), request, hops: hopsIn(headers), whole: headers.has('idempotency-key') },
        service,
        async (tx, outcome, options) => {
          await storeAnswer(tx, outcome instanceof Problem ? outcome : answerOf(outcome), options)
          return outcome
        },
      )
      return answerOf(outcome)
    },
    async sell({ body, principal, url, headers, bytes, source }, service) {
      // Whoever names a right of a user or account must say who they are.
      if (body.persona_delegate !== undefined || body.approval_id !== undefined)
        throw required(principal.refusal, 'a refusal')
      const { sellPaywall } = await load(() => import('./sold-paywall.js'))
      const request = { method: 'POST', url, headers, body: bytes }
      const call = { order: requestIn(body), hops: hopsIn(headers), request, source, refusal: principal.refusal }
      const { outcome, headers: receipt } = await sellPaywall(call, service)
      return answerOf(outcome, { ...receipt, 'cache-control': 'private' })
    },
  }),
})

function requestIn(body: z.output<typeof PaywallBody>) {
  const { amount, dq, destination, serviceUrl, serviceMethod = 'GET', additionalParams } = body
  return { amount, dq, destination, serviceUrl, serviceMethod, additionalParams }
}

function answerOf(outcome: PaywallOutcome, own: Readonly<Record<string, string>> = {}) {
  if (outcome.kind === 'approved') {
    const { payment } = outcome
    const headers = { ...own, ...paymentHeaders(payment.id, 'posted') }
    return reply({ value: { approved: true as const, payment }, headers })
  }
  const { paymentId, paymentStatus, status, contentType, body } = outcome
  return relayed({ status, contentType, body, headers: { ...own, ...paymentHeaders(paymentId, paymentStatus) } })
}
