import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ServiceContext } from '../../../http/context.js'
import { fieldRefused } from '../../../http/fields/field.js'
import type { BoundOffer } from '../../mpp/charge.js'
import { paymentIn, paymentRequired, settlementOf, x402WordsOf } from '../../x402/shop-dialect.js'
import { mppOffered } from './mpp.js'
import { type PayingClient, X402_PAYMENT } from './paying-client.js'
import type { Json } from './tool.js'
import type { RefusedSale, ToolDialect } from './tool-dialect.js'

/** Version 2 over MCP (transports-v2/mcp), for clients with and without the extension. */
export const x402Tool: ToolDialect = {
  isSpoken: ({ x402 }) => x402 !== undefined,
  required: (offer, client, service) =>
    requiredOf({ offer, client, service }, 'Payment required to access this resource'),
  read({ meta }, offer, service) {
    const value = meta[X402_PAYMENT]
    if (value === undefined) return undefined
    const payment = paymentIn(value, offer, service)
    if (!payment) throw fieldRefused(`_meta["${X402_PAYMENT}"]`, 'must be a payment of x402 version 2')
    return payment
  },
  wordsOf: x402WordsOf,
  refused: ({ reason, sentence, fields }, offer, client, service) =>
    requiredOf({ offer, client, service }, `${reason}: ${sentence}`, fields),
  receipt: (payment, offer) => ({ 'x402/payment-response': settlementOf(payment, offer) }),
}

interface Unpaid {
  readonly offer: BoundOffer
  readonly client: PayingClient
  readonly service: ServiceContext
}

/** `fields`: such as where the payment can be approved. */
function requiredOf({ offer, client, service }: Unpaid, error: string, fields: RefusedSale['fields'] = {}) {
  const structuredContent = { ...paymentRequired(offer, error), ...fields }
  const meta = client.mpp ? { _meta: mppOffered(offer, service) } : {}
  if (client.x402 === 'payment_required') return { result: { ...extendedResult(structuredContent), ...meta } }
  const content = [{ type: 'text' as const, text: JSON.stringify(structuredContent) }]
  return { result: { content, structuredContent, isError: true, ...meta } }
}

/** A result of the extension. The SDK sends it as it is, and has no type for it. */
const extendedResult = (paymentRequired: Json) =>
  ({ resultType: 'payment_required', paymentRequired }) as unknown as CallToolResult
