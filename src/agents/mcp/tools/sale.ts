import { canonicalJson } from '../../../base/secrets.js'
import { type Admission, checkPrice, type QuoteRequest } from '../../../market/purchases/purchase.js'
import type { PriceQuote } from '../../../money/commodities/commodity.js'
import type { Reader } from '../../../storage/storage.js'
import { bodyDigest } from '../../mpp/challenge.js'
import type { BoundOffer } from '../../mpp/charge.js'
import { buyByTransfer, TransferRefused } from '../../paid-calls/buy.js'
import { firstPayment } from '../../paid-calls/dialect.js'
import { soldItem } from '../../paid-calls/sold-item.js'
import { offerOf } from '../../paid-calls/thing-sold.js'
import { mppTool } from './mpp.js'
import type { PayingClient } from './paying-client.js'
import { toolResultOf } from './plain.js'
import type { SaleAnswer, ToolDialect } from './tool-dialect.js'
import { countSales, type McpVisit } from './visit.js'
import { x402Tool } from './x402.js'

interface SoldTool extends Pick<QuoteRequest, 'itemId' | 'args'> {
  readonly name: string
  readonly seen: PriceQuote
}

const dialects: readonly ToolDialect[] = [x402Tool, mppTool]

/** Sells a tool call for the payment in it. Undefined if the item is free. Throws `field_invalid`, and like `buyByTransfer`. */
export async function sellCall(
  { name, seen, ...item }: SoldTool,
  client: PayingClient,
  visit: McpVisit,
): Promise<SaleAnswer | undefined> {
  const { agent, within, hops, service } = visit
  const count = countSales(visit)
  const admit: Admission = async (tx, quotes) => {
    for (const quote of quotes) checkPrice(quote, seen)
    await count(tx, quotes)
  }
  const thing = soldItem({ ...item, within, hops, admit }, service)
  const offered = async (tx: Reader): Promise<BoundOffer> => {
    const quote = await thing.quote(tx)
    const resource = { url: `mcp://tool/${name}`, description: quote.item.description, mimeType: 'application/json' }
    const subject = `${resource.url} item ${item.itemId}`
    return { ...(await offerOf(tx, quote, service)), resource, subject, digest: digestOf(item.args) }
  }
  const offer = await service.storage.read(offered)
  if (offer.amount === 0n) return undefined
  const spoken = dialects.filter((dialect) => dialect.isSpoken(client))
  const found = await firstPayment(spoken, (dialect) => dialect.read(client, offer, service))
  if (!found) return spoken[0]?.required(offer, client, service)
  const { dialect, sent } = found
  if ('reason' in sent) return dialect.refused(sent, offer, client, service)
  try {
    const { delivered, payment } = await buyByTransfer(thing, sent, { owner: agent.owner }, service)
    const status = delivered.response?.status ?? 502
    return { result: { ...toolResultOf(delivered), _meta: dialect.receipt({ ...payment, status }, offer, client) } }
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error
    const { reason, sentence } = dialect.wordsOf(error.refusal)
    const words = [sentence, error.detail].filter(Boolean).join(' ')
    // The price may have changed since the client signed it.
    const now = await service.storage.read(offered)
    return dialect.refused({ reason, sentence: words, fields: error.fields }, now, client, service)
  }
}

const digestOf = (args: object): string => bodyDigest(new TextEncoder().encode(canonicalJson(args)))
