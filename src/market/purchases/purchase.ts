import { networkOf } from '../../base/ip-address.js'
import type { Owner } from '../../base/owner.js'
import type { UpstreamRequest } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { quoted } from '../../base/text/quotation.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { ServiceContext } from '../../http/context.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { responsibleFor } from '../../identity/users/user.js'
import type { FlowRun } from '../../jobs/flows/flow.js'
import { addDaily, type RateLimit, spendRate, waitOfDaily, waitText } from '../../jobs/rates/rate.js'
import { queryText } from '../../jobs/upstream/policy.js'
import { type CommodityRow, checkQuote, commodityOf, type PriceQuote } from '../../money/commodities/commodity.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { type HeldPayment, holdPayment } from '../../payments/payments/held-payment.js'
import type { SpentNonce } from '../../payments/payments/payment.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { fillEndpoint, inputsIn, PlaceholderFault } from '../catalog/endpoint.js'
import { type CatalogItemRow, visibleItem } from '../catalog/item-row.js'
import { decryptParameters, type ParameterValues } from '../catalog/parameter.js'
import { type Arguments, argumentsRefused, checkArguments } from '../catalog/schema.js'
import { type PurchaseRow, purchases } from './receipt-row.js'

export interface Quote {
  readonly item: CatalogItemRow
  readonly commodity: CommodityRow
  /** The name that buyers see. */
  readonly seller: string
  readonly payee: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units. 0: free. */
  readonly amount: bigint
  /** The amount, in the digital quantity. */
  readonly price: number
}

/** Decides whether a purchase or cart is allowed, in the transaction that holds its price. */
export type Admission = (tx: Writer, quotes: readonly Quote[]) => Promise<void>

export interface QuoteRequest {
  readonly itemId: number
  readonly args: Arguments
  /** The account that sells the item through its own server, so that its private items are for sale. */
  readonly within?: number | undefined
}

/** Returns an item with its current price. Throws `not_found`, `item_inactive`, `arguments_refused`, `schema_refused`. */
export async function quoteItem(tx: Reader, { itemId, args, within }: QuoteRequest): Promise<Quote> {
  const item = await visibleItem(tx, itemId, within)
  if (!item.active || item.archived) throw problem('item_inactive')
  checkArguments(item.service_schema, args)
  const commodity = await commodityOf(tx, item.hash)
  const quantity = await quantityOf(tx, commodity.dq)
  return {
    item,
    commodity,
    seller: await sellerOf(tx, commodity),
    payee: await getExisting(tx, twins, commodity.twin_id),
    quantity,
    amount: BigInt(commodity.cost),
    price: toAmount(commodity.cost, quantity.decimals),
  }
}

/** Throws `price_changed` with the current price if the buyer saw a different one. */
export const checkPrice = (quote: Quote, seen: PriceQuote): void =>
  checkQuote(seen, quote, { catalog_item_id: quote.item.id })

interface PurchaseTerms extends Pick<FlowRun, 'token'> {
  readonly quote: Quote
  readonly args: Arguments
  readonly payer: TwinRow
  readonly buyer: Owner
  /** The owner whose limits count what it causes. */
  readonly bearer: Owner
  /** Actor of the events: an owner, or the client id of an app. */
  readonly actor: string
  /** Hash of the delegate whose spending authority was spent. */
  readonly delegate: string | null
  /** The nonce of a signed transfer that pays. */
  readonly spentNonce?: SpentNonce | undefined
  readonly hops: number
  readonly at: number
}

/** A purchase whose price is held. It contains the seller's secrets, so it stays in memory. */
export interface HeldPurchase extends HeldPayment, Pick<PurchaseTerms, 'bearer'> {
  readonly row: PurchaseRow
  readonly decimals: number
  readonly request: EndpointRequest
  readonly hops: number
}

/** Holds the price of an item until `settlePurchase`. Throws `parameter_unreadable`, `arguments_refused`, `insufficient_funds`, `same_twin`. */
export async function beginPurchase(
  tx: Writer,
  { quote, args, payer, buyer, bearer, actor, delegate, spentNonce, hops, at, token }: PurchaseTerms,
  service: ServiceContext,
): Promise<HeldPurchase> {
  const { item, commodity, seller, payee, quantity, amount } = quote
  const request = endpointRequest(item, args, await decryptParameters(tx, item.id, service))
  const { id: hash, descriptor } = commodity
  const dq = quantity.id
  const price = { kind: 'purchase', hash, descriptor, dq, amount } as const
  const held = await holdPayment(tx, { ...price, payer, payee, actor, delegate, spentNonce, at, token }, service)
  const row: PurchaseRow = {
    id: held.id,
    buyer,
    seller_owner: payee.owner,
    catalog_item_id: item.id,
    commodity_hash: hash,
    name: item.name,
    descriptor,
    seller,
    amount: String(amount),
    dq,
    created_at: at,
  }
  tx.put(purchases, row)
  return { ...held, row, decimals: quantity.decimals, request, hops, bearer }
}

export function purchaseTerms({ item, seller, payee, quantity, amount }: Quote, args: Arguments): ApprovalTerms {
  const value = priceDetail(quantity, amount)
  return {
    kind: 'purchase',
    detail: { catalog_item_id: item.id, name: item.name, seller, payee: payee.hostname, ...value, arguments: args },
    summary: `Buy ${quoted(item.name)} from ${quoted(seller)} for ${value.price}`,
  }
}

/** A request to an item's endpoint. It contains secret values of dispatch parameters, so it is never stored. */
interface EndpointRequest extends Pick<UpstreamRequest, 'url' | 'shownUrl' | 'method' | 'headers' | 'body'> {
  readonly sensitive: readonly string[]
}

/** Builds the request that fulfils a purchase. The seller's parameters override the arguments. Throws `arguments_refused`. */
export function endpointRequest(
  item: CatalogItemRow,
  args: Arguments,
  { headers, query, url, sensitive }: ParameterValues,
): EndpointRequest {
  const { service_method: method, external_endpoint: endpoint } = item
  const inPath = inputsIn(endpoint)
  const sent = Object.fromEntries(Object.entries(args).filter(([name]) => !inPath.has(name)))
  const target = new URL(filledEndpoint(endpoint, args, url))
  target.hash = ''
  if (method === 'GET')
    // A list becomes one parameter for each of its values.
    for (const [name, value] of Object.entries(sent))
      for (const each of [value].flat()) target.searchParams.append(name, queryText(each))
  for (const [name, value] of query) target.searchParams.set(name, value)
  const isJson = method !== 'GET'
  const own: Record<string, string> = { accept: '*/*', ...(isJson && { 'content-type': 'application/json' }) }
  for (const [name, value] of headers) own[name.toLowerCase()] = value
  const shownUrl = filledEndpoint(endpoint, args)
  return { url: target.href, shownUrl, method, headers: own, body: isJson ? JSON.stringify(sent) : null, sensitive }
}

function filledEndpoint(endpoint: string, args: Arguments, secrets?: ParameterValues['url']): string {
  try {
    return fillEndpoint(endpoint, (source, name) => {
      if (source === 'input') return queryText(args[name])
      if (!secrets) return undefined
      const secret = secrets.get(name)
      if (secret === undefined) throw problem('parameter_unreadable')
      return secret
    })
  } catch (error) {
    if (!(error instanceof PlaceholderFault)) throw error
    throw error.source === 'input' ? argumentsRefused(error.input, error.message) : problem('parameter_unreadable')
  }
}

const MOST_CALLS = 500

/** Calls that cost their payer nothing, to one host. A host pays for them, and need not belong to the seller. */
const freeCalls = ({ limits, sandbox }: Limited): RateLimit => ({
  ...{ kind: 'free_call', most: limits.freeCalls, windowMs: 15 * 60_000, code: 'too_many_calls' },
  detail: (seconds) =>
    `One payer makes at most ${limits.freeCalls} free calls at a host within 15 minutes. ${waitText(seconds, { option: 'limits.freeCalls', sandbox })}`,
})

type Limited = Pick<ServiceContext, 'limits' | 'sandbox'>

/** Calls that cost something, to one host in a day. What a seller is paid may come back to whoever pays. */
const MOST_PAID = 20_000

export interface CalledEndpoint {
  readonly endpoint: string
  /** What each call costs its payer, in smallest units. */
  readonly amount: bigint
  readonly calls: number
}

export const callOf = ({ item, amount }: Pick<Quote, 'item' | 'amount'>): CalledEndpoint => ({
  endpoint: item.external_endpoint,
  amount,
  calls: 1,
})

/** Who causes calls: an owner, or whoever calls from an address, if nobody pays. */
interface CallsBearer {
  readonly bearer: Owner | { readonly address: string | undefined }
  readonly at: number
}

/** Counts the calls that a request will cause for their bearer, before it holds anything. Throws `too_many_calls`. */
export async function spendCalls(
  tx: Writer,
  called: readonly CalledEndpoint[],
  { bearer, at }: CallsBearer,
  service: Limited,
): Promise<void> {
  if (called.length === 0) return
  const all = called.reduce((sum, { calls }) => sum + calls, 0)
  if (all > MOST_CALLS)
    throw problem('too_many_calls', {
      detail: `This makes ${all} calls, and one payment makes at most ${MOST_CALLS}. Pay for a part of it first.`,
      fields: { limit: MOST_CALLS },
      facts: { most: MOST_CALLS },
    })
  const free = new Map<string, number>()
  const paid = new Map<string, number>()
  for (const { endpoint, amount, calls } of called) {
    const host = new URL(endpoint).host // A placeholder is never in it.
    const counts = amount > 0n ? paid : free
    counts.set(host, (counts.get(host) ?? 0) + calls)
  }
  const responsible =
    typeof bearer === 'string' ? await responsibleFor(tx, bearer) : `address:${networkOf(bearer.address ?? '')}`
  const limit = freeCalls(service)
  for (const [host, times] of free) await spendRate(tx, limit, { subject: `${responsible}>${host}`, at, times })
  for (const [host, times] of paid) await spendPaid(tx, { subject: `${responsible}>${host}`, at, times }, service)
}

/** Counts calls that cost something. The last ones of a day may exceed the limit. */
async function spendPaid(
  tx: Writer,
  { times, ...counted }: { subject: string; at: number; times: number },
  { sandbox }: Limited,
): Promise<void> {
  const limit = { kind: 'paid_calls', most: MOST_PAID, ...counted }
  if (await addDaily(tx, limit, times)) return
  const seconds = (await waitOfDaily(tx, limit)) ?? 1
  throw problem('too_many_calls', {
    detail: `One payer causes at most ${MOST_PAID} calls of one host a day. ${waitText(seconds, { sandbox })}`,
    fields: { limit: MOST_PAID },
    facts: { most: MOST_PAID },
    headers: { 'retry-after': String(seconds) },
  })
}
