import { digest } from '../../base/secrets.js'
import { fieldRefused } from '../../http/fields/field.js'
import { z } from '../../http/fields/schema.js'
import { checksummed } from '../wallets/evm.js'
import { duePayment, PaymentPayload, PaymentPayloadV1, Requirements, RequirementsV1, sentPayment } from './payload.js'

/** A facilitator sends transactions from an address of its own. This one sends none. */
export const FACILITATOR = checksummed(digest('the facilitator of x402').slice(0, 40))

/** What a shop sends to have a payment verified or settled, in either version. */
export const FacilitatorBody = z.object({
  x402Version: z.union([z.literal(1), z.literal(2)]),
  paymentPayload: z.union([PaymentPayload, PaymentPayloadV1]),
  paymentRequirements: z.union([Requirements, RequirementsV1]),
})
export type SentFacilitatorBody = z.output<typeof FacilitatorBody>

/** The payment in a request. Throws `field_invalid` if its parts are of different versions. */
export function facilitatedPayment({ x402Version, paymentPayload, paymentRequirements }: SentFacilitatorBody) {
  const version = 'amount' in paymentRequirements ? 2 : 1
  if (paymentPayload.x402Version !== x402Version)
    throw fieldRefused('paymentPayload', `must be of version ${x402Version}, as "x402Version" says`)
  if (version !== x402Version)
    throw fieldRefused('paymentRequirements', `must be of version ${x402Version}, as "x402Version" says`)
  const sent = sentPayment(paymentPayload)
  const resource = 'resource' in paymentRequirements ? paymentRequirements.resource : undefined
  const describing =
    paymentPayload.x402Version === 2 && 'amount' in paymentRequirements
      ? { payload: paymentPayload, due: paymentRequirements }
      : undefined
  return { sent: { ...sent, resource: sent.resource ?? resource }, due: duePayment(paymentRequirements), describing }
}
