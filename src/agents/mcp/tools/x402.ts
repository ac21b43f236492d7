import type * as sdk from '@modelcontextprotocol/server'
import { fieldRefused } from '../../../http/fields/field.js'
import { type Admission, checkPrice, type QuoteRequest } from '../../../market/purchases/purchase.js'
import type { PriceQuote } from '../../../money/commodities/commodity.js'
import type { Reader } from '../../../storage/storage.js'
import { buyByTransfer, TransferRefused } from '../../paid-calls/buy.js'
import type { CallOffer } from '../../paid-calls/dialect.js'
import { soldItem } from '../../paid-calls/sold-item.js'
import { offerOf } from '../../paid-calls/thing-sold.js'
import { paymentIn, paymentRequired, settlementOf, x402WordsOf } from '../../x402/shop-dialect.js'
import { toolResultOf } from './plain.js'
import type { Json } from './tool.js'
import { countSales, type McpVisit } from './visit.js'

/** What a client says in a call that pays by x402 (transports-v2/mcp). */
export interface X402Client {
  /** What it sent as the payment. Undefined: it asks what the call costs. */
  readonly payment: unknown
}

/** Where a call has it. */
export const X402_PAYMENT = 'x402/payment'

interface SoldTool extends Pick<QuoteRequest, 'itemId' | 'args'> {
  readonly name: string
  readonly seen: PriceQuote | undefined
}

/** Sells a call of an item's tool for the x402 payment in it. Undefined if the item is free. Throws like `buyByTransfer`. */
export async function sellByX402(
  { name, seen = {}, ...item }: SoldTool,
  { payment }: X402Client,
  visit: McpVisit,
): Promise<sdk.CallToolResult | undefined> {
  const { agent, within, hops, service } = visit
  const count = countSales(visit)
  const admit: Admission = async (tx, quotes) => {
    for (const quote of quotes) checkPrice(quote, seen)
    await count(tx, quotes)
  }
  const thing = soldItem({ ...item, within, hops, admit }, service)
  const offered = async (tx: Reader): Promise<CallOffer> => {
    const quote = await thing.quote(tx)
    const { description } = quote.item
    const resource = { url: `mcp://tool/${name}`, description, mimeType: 'application/json' }
    return { ...(await offerOf(tx, quote, service)), resource }
  }
  const offer = await service.storage.read(offered)
  if (offer.amount === 0n) return undefined
  if (payment === undefined) return requiredOf(offer, 'Payment required to access this resource')
  const sent = paymentIn(payment, offer, service)
  if (!sent) throw fieldRefused(`_meta["${X402_PAYMENT}"]`, 'must be a payment of x402 version 2')
  if ('reason' in sent) return requiredOf(offer, `${sent.reason}: ${sent.sentence}`)
  try {
    const bought = await buyByTransfer(thing, sent, { owner: agent.owner }, service)
    const receipt = settlementOf(bought.payment, offer)
    return { ...toolResultOf(bought.delivered), _meta: { 'x402/payment-response': receipt } }
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error
    const { reason, sentence } = x402WordsOf(error.refusal)
    const words = [`${reason}: ${sentence}`, error.detail].filter(Boolean).join(' ')
    // The price may have changed since the client signed it.
    return requiredOf(await service.storage.read(offered), words)
  }
}

function requiredOf(offer: CallOffer, error: string): sdk.CallToolResult {
  const structuredContent = paymentRequired(offer, error)
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent, isError: true }
}

/** The JSON Schema of that, because clients check refusals too. */
export const paymentRequiredSchema: Json = {
  type: 'object',
  description: 'What the call costs by x402: the result has isError.',
  properties: { x402Version: { type: 'integer' }, error: { type: 'string' }, accepts: { type: 'array' } },
  required: ['x402Version', 'accepts'],
}
