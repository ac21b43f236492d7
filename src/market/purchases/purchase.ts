import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { quoted } from '../../base/text/quotation.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { ServiceContext } from '../../http/context.js'
import { sellerOf } from '../../identity/accounts/account.js'
import type { FlowRun } from '../../jobs/flows/flow.js'
import { type CommodityRow, commodityOf } from '../../money/commodities/commodity.js'
import { checkQuote, type PriceQuote } from '../../money/commodities/price-quote.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { type HeldPayment, holdPayment } from '../../payments/payments/held-payment.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type CatalogItemRow, visibleItem } from '../catalog/item-row.js'
import { decryptParameters } from '../catalog/parameter.js'
import { type Arguments, checkArguments } from '../catalog/schema.js'
import { type EndpointRequest, endpointRequest } from './dispatch.js'
import { type PurchaseRow, purchases } from './receipt-row.js'

/** An item with its current price. */
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

/**
 * Returns an item with its current price. Throws `not_found` (also for a private item), `item_inactive`,
 * `arguments_refused`, `schema_refused`.
 */
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

export interface PurchaseTerms extends Pick<FlowRun, 'token'> {
  readonly quote: Quote
  /** The arguments that were quoted. */
  readonly args: Arguments
  readonly payer: TwinRow
  readonly buyer: Owner
  /** The owner whose limits count what it causes. */
  readonly bearer: Owner
  /** Actor of the events: an owner, or the client id of an app. */
  readonly actor: string
  /** Hash of the delegate whose spending authority was spent. */
  readonly delegate: string | null
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

/**
 * Holds the price of an item until `settlePurchase`. Throws `parameter_unreadable`, `arguments_refused`, `insufficient_funds`, `same_twin`.
 */
export async function beginPurchase(
  tx: Writer,
  { quote, args, payer, buyer, bearer, actor, delegate, hops, at, token }: PurchaseTerms,
  service: ServiceContext,
): Promise<HeldPurchase> {
  const { item, commodity, seller, payee, quantity, amount } = quote
  const request = endpointRequest(item, args, await decryptParameters(tx, item.id, service))
  const { id: hash, descriptor } = commodity
  const dq = quantity.id
  const held = await holdPayment(
    tx,
    { kind: 'purchase', hash, descriptor, dq, amount, payer, payee, actor, delegate, at, token },
    service,
  )
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

/** Returns what an agent's user approves: the item, its arguments, its price and the payee. */
export function purchaseTerms({ item, seller, payee, quantity, amount }: Quote, args: Arguments): ApprovalTerms {
  const value = priceDetail(quantity, amount)
  return {
    kind: 'purchase',
    detail: { catalog_item_id: item.id, name: item.name, seller, payee: payee.hostname, ...value, arguments: args },
    summary: `Buy ${quoted(item.name)} from ${quoted(seller)} for ${value.price}`,
  }
}
