import { z } from '../../http/fields/schema.js'
import { reply } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { type RefusedTransfer, settleTransfer, verifyTransfer } from './facilitator.js'
import { FACILITATOR, FacilitatorBody, facilitatedPayment, type SentFacilitatorBody } from './facilitator-body.js'
import { encodeHeader } from './payload.js'
import { PAYMENT_IDENTIFIER } from './payment-identifier.js'
import { reasons } from './reasons.js'

const optionalText = z.optional(z.string())
const facilitator = { evidence: 'designed', auth: ['none'] } as const
const paying = { ...facilitator, method: 'POST', body: FacilitatorBody } as const

export const x402Routes = defineRoutes('x402', {
  listX402Kinds: route({
    ...facilitator,
    summary: 'List the kinds of x402 payments that this service verifies and settles.',
    method: 'GET',
    path: '/x402/supported',
    result: z.object({
      kinds: z.array(z.object({ x402Version: z.int(), scheme: z.string(), network: z.string() })),
      extensions: z.array(z.string()),
      signers: z.record(z.string(), z.array(z.string())),
    }),
    async handle(_call, { options }) {
      const { networks } = options.dialects
      const kinds = networks.flatMap(({ network, nameV1 }) => [
        { x402Version: 2, scheme: 'exact', network },
        ...(nameV1 === undefined ? [] : [{ x402Version: 1, scheme: 'exact', network: nameV1 }]),
      ])
      return { kinds, extensions: [PAYMENT_IDENTIFIER, 'bazaar'], signers: { 'eip155:*': [FACILITATOR] } }
    },
  }),
  verifyX402Payment: route({
    ...paying,
    summary: 'Verify an x402 payment: whether settling it now would pay.',
    path: '/x402/verify',
    result: z.object({
      isValid: z.boolean(),
      invalidReason: optionalText,
      invalidMessage: optionalText,
      payer: optionalText,
    }),
    errors: ['payment_identifier_mismatch'],
    async handle({ body, source }, service) {
      const outcome = await verifyTransfer({ ...facilitatedPayment(body), source }, service)
      const { payer } = outcome
      if (!outcome.refused) return { isValid: true, payer }
      const { reason, message } = wordsOf(outcome, body)
      return { isValid: false, invalidReason: reason, invalidMessage: message, payer }
    },
  }),
  settleX402Payment: route({
    ...paying,
    summary: 'Settle an x402 payment: move the signed amount to the payee, once.',
    path: '/x402/settle',
    result: z.object({
      success: z.boolean(),
      errorReason: optionalText,
      errorMessage: optionalText,
      transaction: z.string(),
      network: z.string(),
      payer: optionalText,
      amount: optionalText,
    }),
    errors: ['payment_identifier_mismatch'],
    async handle({ body, source }, service) {
      const payment = facilitatedPayment(body)
      const outcome = await settleTransfer({ ...payment, source }, service)
      const { payer } = outcome
      const { network } = payment.due
      if (!outcome.refused) {
        const { transaction, amount, listing } = outcome
        const value = { success: true, transaction, network, payer, amount }
        return reply({ value, headers: listing ? { 'extension-responses': encodeHeader({ bazaar: listing }) } : {} })
      }
      const { reason, message } = wordsOf(outcome, body)
      return { success: false, errorReason: reason, errorMessage: message, transaction: '', network, payer }
    },
  }),
})

function wordsOf({ refused, detail }: RefusedTransfer, { x402Version }: Pick<SentFacilitatorBody, 'x402Version'>) {
  const { v1, v2, sentence } = reasons[refused]
  return { reason: x402Version === 1 ? v1 : v2, message: detail === undefined ? sentence : `${sentence} ${detail}` }
}
