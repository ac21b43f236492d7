import { Problem, problem } from '../../base/problem.js'
import { hopsIn } from '../../base/via.js'
import { Amount, ContentHash, PaymentShape, z } from '../../http/fields/schema.js'
import { reply } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { callerFields } from './caller.js'
import { callPaywall, type PaywallOutcome } from './paywall.js'

const PaywallBody = z.object({
  amount: Amount,
  dq: z.optional(ContentHash),
  serviceUrl: z.optional(z.string()),
  serviceMethod: z.optional(z.enum(['GET', 'POST', 'PUT'])),
  additionalParams: z.optional(z.record(z.string(), z.unknown())),
  destination: z.optional(z.string()),
  approval_id: z.optional(z.string()),
  persona_delegate: z.optional(z.string()),
  public_secret: z.optional(z.string()),
})

export const paywallRoutes = defineRoutes('paywall', {
  callPaywall: route({
    summary: 'Take a payment from a user, call the service that they pay for, and relay its answer.',
    evidence: 'documented',
    method: 'POST',
    path: '/paywall',
    versions: ['v4'],
    auth: ['user', 'session', 'page', 'agent', 'account', 'embed'],
    body: PaywallBody,
    result: z.object({ approved: z.literal(true), payment: PaymentShape }),
    relays: true,
    errors: [
      'dq_unknown',
      'amount_invalid',
      'destination_unknown',
      'item_inactive',
      'insufficient_funds',
      'approval_required',
      'approval_not_given',
      'approval_spent',
      'approval_mismatch',
      'delegate_required',
      'delegate_refused',
      'rejected',
      'approval_timeout',
      'same_twin',
      'upstream_refused',
      'too_many_hops',
      'too_many_pending',
      'too_many_mails',
      'upstream_failed',
    ],
    idempotent: true,
    async handle({ body, principal, session, headers, storeAnswer }, service) {
      const { amount, dq, destination, serviceUrl, serviceMethod = 'GET', additionalParams } = body
      const request = { amount, dq, destination, serviceUrl, serviceMethod, additionalParams }
      const fields = callerFields(principal, {
        sessionId: session?.id,
        delegate: body.persona_delegate,
        approvalId: body.approval_id,
        request,
      })
      const outcome = await callPaywall(
        {
          order: { amount, dq, destination, ...fields },
          serviceUrl,
          call: { method: serviceMethod, params: additionalParams },
          hops: hopsIn(headers),
          whole: headers.has('idempotency-key'),
          storeOutcome: (tx, outcome, options) => storeAnswer(tx, answerOf(outcome), options),
        },
        service,
      )
      const answer = answerOf(outcome)
      if (answer instanceof Problem) throw answer
      return answer
    },
  }),
})

function answerOf(outcome: PaywallOutcome) {
  if (outcome.kind === 'approved') {
    const { payment } = outcome
    return reply({ value: { approved: true as const, payment }, headers: paymentHeaders(payment.id, 'posted') })
  }
  if (outcome.kind === 'failed') {
    const { paymentId, reason } = outcome
    return problem('upstream_failed', { detail: reason, headers: paymentHeaders(paymentId, 'reversed') })
  }
  const { paymentId, paymentStatus, status, contentType, body } = outcome
  const headers = { ...paymentHeaders(paymentId, paymentStatus), ...sandboxed, ...typeHeader(contentType) }
  return reply({ status, headers, body: hasNoBody(status) ? null : body })
}

const paymentHeaders = (id: number, status: 'posted' | 'reversed') => ({
  'x-payment-id': String(id),
  'x-payment-status': status,
})

/** An upstream answer is not a page of the service: in a browser it gets no origin and runs no script. */
const sandboxed = { 'content-security-policy': "sandbox; default-src 'none'" }

const typeHeader = (contentType: string | null) => ({ 'content-type': contentType ?? 'application/octet-stream' })

const hasNoBody = (status: number): boolean => [204, 205, 304].includes(status)
