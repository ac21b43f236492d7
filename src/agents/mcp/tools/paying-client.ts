import { isObject } from '../../../storage/unknown.js'
import { MPP_INTENT, MPP_METHOD } from '../../mpp/charge.js'
import type { Json } from './tool.js'

/** How a client pays in a tool call itself: by what it declares, or says in the `_meta` of the call. */
export interface PayingClient {
  /** The `_meta` of the call. */
  readonly meta: Json
  /** How it is told what a call costs by x402 (transports-v2/mcp). Undefined: it does not pay so. */
  readonly x402: 'payment_required' | 'tool_result' | undefined
  readonly mpp: boolean
}

/** The extension of x402, from protocol version 2026-07-28 on. */
export const X402_EXTENSION = 'org.x402/payment'

/** Where a call has its payment, by x402 and by MPP. */
export const X402_PAYMENT = 'x402/payment'
export const MPP_CREDENTIAL = 'org.paymentauth/credential'

/** Undefined if it pays by farthing's own wallets only. `capabilities`: of this call. `declaredMpp`: in an earlier message. */
export function payingClient(meta: Json, capabilities: unknown, declaredMpp: boolean): PayingClient | undefined {
  const says = (prefix: string) => Object.keys(meta).some((name) => name.startsWith(prefix))
  const isExtended =
    isObject(capabilities) && isObject(capabilities.extensions) && capabilities.extensions[X402_EXTENSION] !== undefined
  const x402 = isExtended ? 'payment_required' : says('x402/') ? 'tool_result' : undefined
  const mpp = declaredMpp || declaresMpp(capabilities) || says('org.paymentauth/')
  return x402 !== undefined || mpp ? { meta, x402, mpp } : undefined
}

/** What the server declares of MPP. */
export const MPP_CAPABILITY = { payment: { methods: { [MPP_METHOD]: { intents: [MPP_INTENT] } } } }

/** Whether declared capabilities say that the client pays by MPP (draft-payment-transport-mcp, section 4.1). */
export const declaresMpp = (capabilities: unknown): boolean =>
  isObject(capabilities) && isObject(capabilities.experimental) && isObject(capabilities.experimental.payment)
