import { problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import { bytesOf } from '../../base/secrets.js'
import { checkHops } from '../../base/via.js'
import type { CallSource, ServiceContext } from '../../http/context.js'
import { visibleItem } from '../../market/catalog/item-row.js'
import type { Arguments, SellerSchema } from '../../market/catalog/schema.js'
import { paymentHeaders } from '../../market/paywall/paywall.js'
import { callEndpoint, freeRequest } from '../../market/purchases/fulfilment.js'
import { type Quote, quoteItem } from '../../market/purchases/purchase.js'
import type { Delivered } from '../../market/purchases/receipt-row.js'
import type { Reader } from '../../storage/storage.js'
import { buyByTransfer, offerOf, TransferRefused } from '../paid-calls/buy.js'
import type {
  DialectPart,
  PaidRequest,
  PaymentDialect,
  RefusedInDialect,
  RequestedOffer,
  SentTransfer,
} from '../paid-calls/dialect.js'
import { dialects } from './dialects.js'

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

/**
 * Calls an item for whoever pays in the request itself, and returns the endpoint's answer. Throws `payment_required` with
 * offers in every dialect, what `buyByTransfer` throws, and `header_malformed`.
 */
export async function callItem(call: ItemCall, service: ServiceContext): Promise<CallAnswer> {
  checkHops(call.hops)
  const { quote, args, offer } = await service.storage.read((tx) => quotedCall(tx, call, service))
  if (quote.amount === 0n) return callFreely({ ...call, args }, service)
  const { dialect, sent } = await readPayment(call.request, offer, service)
  if ('reason' in sent) throw await paymentRefused({ dialect, offer, refusal: sent }, service)
  try {
    const { receipt, payment } = await buyByTransfer({ ...call, args }, sent, service)
    const delivered = receipt.response
    const told = dialect.receipt({ ...payment, status: delivered?.status ?? 502 }, offer)
    return relayedDelivery(delivered, { ...told, ...paymentHeaders(payment.paymentId, 'posted') })
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error
    const { reason, sentence } = dialect.wordsOf(error.refusal)
    const { detail, fields } = error
    const { from: payer } = sent.transfer.authorization
    const refusal = { reason, sentence: detail === undefined ? sentence : `${sentence} ${detail}`, payer }
    throw await paymentRefused({ dialect, refusal, fields, ...(await offeredNow(call, service)) }, service)
  }
}

async function quotedCall(tx: Reader, { itemId, argsFor, request }: ItemCall, service: ServiceContext) {
  const item = await visibleItem(tx, itemId, undefined)
  const args = argsFor(item.service_schema)
  const quote = await quoteItem(tx, { itemId, args })
  const way = await offerOf(tx, quote, service)
  return { quote, args, offer: { ...way, resource: resourceOf(quote, service), request } }
}

/** The price may have changed since the client signed it. */
const offeredNow = (call: ItemCall, service: ServiceContext) =>
  service.storage.read((tx) => quotedCall(tx, call, service))

const resourceOf = ({ item }: Quote, { baseUrl }: Pick<ServiceContext, 'baseUrl'>) => ({
  url: `${baseUrl}/v4/catalog/items/${item.id}/call`,
  description: item.description,
  mimeType: 'application/json',
})

/** The first payment that a request carries. Throws `payment_required` if there is none. */
async function readPayment(request: PaidRequest, offer: RequestedOffer, service: ServiceContext) {
  for (const dialect of dialects) {
    const sent: SentTransfer | RefusedInDialect | undefined = await dialect.read(request, offer, service)
    if (sent) return { dialect, sent }
  }
  throw paymentRequiredBy(await Promise.all(dialects.map((dialect) => dialect.offer(offer, service))))
}

interface RefusedPayment {
  readonly dialect: PaymentDialect
  readonly offer: RequestedOffer
  readonly refusal: RefusedInDialect
  readonly fields?: ProblemFields
}

async function paymentRefused({ dialect, offer, refusal, fields }: RefusedPayment, service: ServiceContext) {
  const parts = await Promise.all(
    dialects.map((each) => (each === dialect ? each.refused(refusal, offer, service) : each.offer(offer, service))),
  )
  const { reason, sentence } = refusal
  return paymentRequiredBy(parts, { detail: `${reason}: ${sentence}`, fields: { reason, ...fields } })
}

const paymentRequiredBy = (
  parts: readonly DialectPart[],
  { detail, fields }: { detail?: string; fields?: ProblemFields } = {},
) =>
  problem('payment_required', {
    ...(detail !== undefined && { detail }),
    fields: Object.assign({}, ...parts.map((part) => part.fields), fields),
    headers: Object.assign({}, ...parts.map(({ headers }) => headers)),
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

/** Null: the endpoint gave no complete answer, and the service charges for that too. */
function relayedDelivery(delivered: Relayable | null, headers: Readonly<Record<string, string>>): CallAnswer {
  const { status = 502, content_type: contentType = null, body = null, body_encoding } = delivered ?? {}
  const bytes = body !== null && body_encoding === 'base64' ? bytesOf(body) : body
  return { status, contentType, body: bytes, headers: { ...headers, 'cache-control': 'private' } }
}
