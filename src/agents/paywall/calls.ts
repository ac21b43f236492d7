import { load } from '../../base/parts.js'
import { Problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import type { CallSource, ServiceContext, StoreAnswer } from '../../http/context.js'
import { allDesigned } from '../../http/fields/graded.js'
import { Amount, ContentHash, z } from '../../http/fields/schema.js'
import {
  callPaywall,
  type PaywallOutcome,
  type PaywallRequest,
  paymentHeaders,
  paywallCaller,
} from '../../market/paywall/paywall.js'
import type { PaidRequest } from '../paid-calls/dialect.js'

export const PaywallBody = z.object({
  amount: Amount,
  ...allDesigned({
    dq: z.optional(ContentHash),
    serviceUrl: z.optional(z.string()),
    serviceMethod: z.optional(z.enum(['GET', 'POST', 'PUT'])),
    additionalParams: z.optional(z.record(z.string(), z.unknown())),
    destination: z.optional(z.string()),
    approval_id: z.optional(z.TextId),
    persona_delegate: z.secret(z.optional(z.string())),
    public_secret: z.optional(z.string()),
  }),
})
type PaywallBody = z.output<typeof PaywallBody>

/** What a call of the paywall answers. */
export interface PaywallAnswer {
  readonly outcome: PaywallOutcome
  /** Those of our own. */
  readonly headers: Readonly<Record<string, string>>
}

interface CallForCaller {
  readonly body: PaywallBody
  readonly principal: Parameters<typeof paywallCaller>[0]
  readonly sessionId: string | undefined
  readonly hops: number
  /** Whether the answer will be stored. */
  readonly isKept: boolean
}

/** Takes a payment from a caller whose credentials say who pays. Throws what `callPaywall` and `paywallCaller` throw. */
export async function callForCaller(
  { body, principal, sessionId, hops, isKept }: CallForCaller,
  service: ServiceContext,
  storeAnswer: StoreAnswer<PaywallAnswer | Problem>,
): Promise<PaywallAnswer> {
  const sent = { sessionId, delegate: body.persona_delegate, approvalId: body.approval_id }
  const call = { ...paywallCaller(principal, sent), request: requestIn(body), hops, whole: isKept }
  const outcome = await callPaywall(call, service, async (tx, outcome, how) => {
    await storeAnswer(tx, outcome instanceof Problem ? outcome : answerTo(outcome), how)
    return outcome
  })
  return answerTo(outcome)
}

interface CallForPayment {
  readonly body: PaywallBody
  readonly request: PaidRequest
  readonly hops: number
  readonly source: Pick<CallSource, 'address'>
  /** How a caller without credentials is refused. */
  readonly refusal: Problem | undefined
}

/** Takes the payment that a request without credentials carries, or offers the call. Throws what `sellPaywall` throws. */
export async function callForPayment(
  { body, ...call }: CallForPayment,
  service: ServiceContext,
): Promise<PaywallAnswer> {
  const refusal = required(call.refusal, 'the refusal of a caller without credentials')
  // Whoever names a right of a user must say who they are.
  if (body.persona_delegate !== undefined || body.approval_id !== undefined) throw refusal
  const { sellPaywall } = await load(() => import('./sold-paywall.js'))
  const { outcome, headers } = await sellPaywall({ ...call, order: requestIn(body), refusal }, service)
  return answerTo(outcome, { ...headers, ...(outcome.kind === 'answered' && { 'cache-control': 'private' }) })
}

function requestIn(body: PaywallBody): PaywallRequest {
  const { amount, dq, destination, serviceUrl, serviceMethod = 'GET', additionalParams } = body
  return { amount, dq, destination, serviceUrl, serviceMethod, additionalParams }
}

function answerTo(outcome: PaywallOutcome, own: Readonly<Record<string, string>> = {}): PaywallAnswer {
  const paid =
    outcome.kind === 'approved'
      ? paymentHeaders(outcome.payment.id, 'posted')
      : paymentHeaders(outcome.paymentId, outcome.paymentStatus)
  return { outcome, headers: { ...own, ...paid } }
}
