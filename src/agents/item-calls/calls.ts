import { checkKey } from '../../base/idempotency-key.js'
import { problem } from '../../base/problem.js'
import { bytesOf } from '../../base/secrets.js'
import { checkHops } from '../../base/via.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { visibleItem } from '../../market/catalog/item-row.js'
import type { Arguments, SellerSchema } from '../../market/catalog/schema.js'
import { paymentHeaders } from '../../market/paywall/paywall.js'
import { callEndpoint, freeRequest } from '../../market/purchases/fulfilment.js'
import { type Quote, quoteItem } from '../../market/purchases/purchase.js'
import type { ShownReceipt } from '../../market/purchases/receipt.js'
import type { Delivered } from '../../market/purchases/receipt-row.js'
import type { Reader } from '../../storage/storage.js'
import type { PaidRequest } from '../paid-calls/dialect.js'
import { soldItem } from '../paid-calls/sold-item.js'
import { offered, type Sale, sell } from '../paid-requests/sell.js'

export interface ItemCall {
  readonly itemId: number
  readonly argsFor: (schema: SellerSchema) => Arguments
  readonly request: PaidRequest
  readonly hops: number
  readonly source: Pick<CallSource, 'address'>
}

/** The answer of an endpoint. */
export interface CallAnswer {
  readonly status: number
  readonly contentType: string | null
  readonly body: string | Uint8Array<ArrayBuffer> | null
  /** Those of our own. */
  readonly headers: Readonly<Record<string, string>>
}

/** Calls an item for whoever pays in the request itself, and returns the endpoint's answer. Throws what `sell` throws. */
export async function callItem(call: ItemCall, service: ServiceContext): Promise<CallAnswer> {
  checkHops(call.hops)
  const { sale, args, quote, offer } = await service.storage.read((tx) => offeredCall(tx, call, service))
  if (quote.amount === 0n) return callFreely({ ...call, args }, service)
  const { delivered, paymentId, headers } = await sell(sale, offer, service)
  return relayedDelivery(delivered.response, { ...headers, ...paymentHeaders(paymentId, 'posted') })
}

async function offeredCall(tx: Reader, { itemId, argsFor, request, hops, source }: ItemCall, service: ServiceContext) {
  const item = await visibleItem(tx, itemId, undefined)
  const args = argsFor(item.service_schema)
  const sale: Sale<Quote, ShownReceipt> = {
    ...{ thing: soldItem({ itemId, args, hops }, service), request, source },
    identifier: keyIn(request),
    resourceOf: (quote) => resourceOf(quote, service),
    statusOf: ({ response }) => statusOf(response),
  }
  return { sale, args, ...(await offered(tx, sale, service)) }
}

/** Names a payment, as at the paywall. Throws `idempotency_key_invalid`. */
function keyIn({ headers }: PaidRequest): string | undefined {
  const key = headers.get('idempotency-key')
  return key === null ? undefined : checkKey(key)
}

const resourceOf = ({ item }: Quote, { baseUrl }: Pick<ServiceContext, 'baseUrl'>) => ({
  url: `${baseUrl}/v4/catalog/items/${item.id}/call`,
  description: item.description,
  mimeType: 'application/json',
})

/** Calls an item that costs nothing, which its caller's address has a limit for. */
async function callFreely(call: ItemCall & { readonly args: Arguments }, service: ServiceContext): Promise<CallAnswer> {
  const { itemId, args, hops } = call
  const request = await service.storage.write(async (tx) => {
    const { item, amount } = await quoteItem(tx, { itemId, args })
    return amount === 0n ? freeRequest(tx, { item, args, bearer: call.source }, service) : undefined
  })
  // It has a price since a moment ago.
  if (!request) return callItem(call, service)
  const { delivered, failure } = await callEndpoint({ request, hops }, service)
  if (failure !== undefined) throw problem('upstream_failed', { detail: failure })
  return relayedDelivery(delivered ?? null, {})
}

type Relayable = Omit<Delivered, 'body'> & { readonly body: string | null }

/** Null: the endpoint gave no complete answer, and the service charges for that too. As 402 would ask for a payment here. */
const statusOf = (delivered: Relayable | null): number =>
  delivered && delivered.status !== 402 ? delivered.status : 502

function relayedDelivery(delivered: Relayable | null, headers: Readonly<Record<string, string>>): CallAnswer {
  const { content_type: contentType = null, body = null, body_encoding } = delivered ?? {}
  const bytes = body !== null && body_encoding === 'base64' ? bytesOf(body) : body
  return { status: statusOf(delivered), contentType, body: bytes, headers: { ...headers, 'cache-control': 'private' } }
}
