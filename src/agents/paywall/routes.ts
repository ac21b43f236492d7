import { Problem } from '../../base/problem.js'
import { hopsIn } from '../../base/via.js'
import { allDesigned } from '../../http/fields/graded.js'
import { PaymentShape, z } from '../../http/fields/schema.js'
import { relayed, reply } from '../../http/reply.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { callForCaller, callForPayment, type PaywallAnswer, PaywallBody } from './calls.js'

const asking = ['too_many_pending', 'too_many_mails'] as const
const refusals = [
  ...(['not_found', 'dq_unknown', 'amount_invalid', 'destination_unknown', 'item_inactive'] as const),
  ...(['insufficient_funds', ...ERRORS.approval, ...ERRORS.delegate, 'rejected', 'approval_timeout'] as const),
  ...(['same_twin', 'upstream_refused', 'too_many_hops', 'too_many_calls', ...asking, 'upstream_failed'] as const),
] as const

export const paywallRoutes = defineRoutes('paywall', {
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
      const sent = { body, principal, sessionId: session?.id, hops: hopsIn(headers) }
      const called = await callForCaller(
        { ...sent, isKept: headers.has('idempotency-key') },
        service,
        async (tx, said, how) => {
          await storeAnswer(tx, said instanceof Problem ? said : answerOf(said), how)
          return said
        },
      )
      return answerOf(called)
    },
    async sell({ body, principal, url, headers, bytes, source }, service) {
      const request = { method: 'POST', url, headers, body: bytes }
      const { refusal } = principal
      return answerOf(await callForPayment({ body, refusal, request, hops: hopsIn(headers), source }, service))
    },
  }),
})

function answerOf({ outcome, headers }: PaywallAnswer) {
  if (outcome.kind === 'approved')
    return reply({ value: { approved: true as const, payment: outcome.payment }, headers })
  const { status, contentType, body } = outcome
  return relayed({ status, contentType, body, headers })
}
