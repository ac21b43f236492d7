import { agentTwins, type ConnectionRow, findConnection } from '../../../consent/oidc/connection.js'
import { delegates } from '../../../consent/personas/delegate.js'
import { personas } from '../../../consent/personas/persona.js'
import { invoices } from '../../../market/billing/invoice-row.js'
import { cartLines } from '../../../market/carts/cart.js'
import { type CatalogItemRow, catalogItems } from '../../../market/catalog/item-row.js'
import { type CheckoutRow, checkouts } from '../../../market/checkout/checkout-row.js'
import { subscriptionOf } from '../../../market/plans/plan.js'
import { type CommodityRow, commodities } from '../../../money/commodities/commodity.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { toUnits } from '../../../money/ledger/amount.js'
import { primaryTwin, type TwinRow, twinByHostname, twins } from '../../../money/twins/twin.js'
import type { RefusedRequest } from './refused-request.js'

/** What a request would have moved, as the rules read it at that moment. */
export interface Price {
  /** The twin that pays. Undefined if there is none, or if it cannot be told. */
  readonly payer: TwinRow | undefined
  /** The twin that is paid. Undefined for several payees, an invitation, or what cannot be told. */
  readonly payee: TwinRow | undefined
  /** Smallest units by digital quantity. */
  readonly sums: ReadonlyMap<string, bigint>
  /** What it pays for: `the commodity NEWS.ARTICLE`. */
  readonly what: string
}

/** The commodity that a request names, itself or by its item. */
export async function commodityIn(asked: RefusedRequest): Promise<CommodityRow | undefined> {
  return asked.get(commodities, asked.params.hash ?? asked.sentText('hash') ?? (await itemIn(asked))?.hash)
}

/** The catalog item that a request names, in its path or its fields. */
export async function itemIn(asked: RefusedRequest): Promise<CatalogItemRow | undefined> {
  const id = asked.idIn('items') ?? asked.idIn('tools') ?? asked.sentNumber('catalog_item_id')
  return asked.get(catalogItems, id === undefined ? undefined : Number(id))
}

/** The catalog item that sells a commodity. */
export const itemSelling = async (asked: RefusedRequest, commodity: CommodityRow | undefined) =>
  (await asked.rows(catalogItems, 'byCommodity', [commodity?.id ?? ''], 1))[0]

/** The checkout whose token is in the path of a request. */
export const checkoutIn = async (asked: RefusedRequest): Promise<CheckoutRow | undefined> =>
  (await asked.rows(checkouts, 'byToken', [asked.entry.tokenDigest ?? ''], 1))[0]

/** The connection of the agent that called. */
export async function callingConnection(asked: RefusedRequest): Promise<ConnectionRow | undefined> {
  const id = asked.callerId('agent')
  return id === undefined ? undefined : findConnection(asked.tx, id)
}

/** The user behind a call: the user who called, or whose agent did. */
export async function userBehind(asked: RefusedRequest): Promise<number | undefined> {
  return asked.callerId('user') ?? (await callingConnection(asked))?.user_id
}

/** The twin that a call pays from: of its delegate, its hostname, its agent, or the caller's primary one. */
export async function payerIn(asked: RefusedRequest, commodity?: CommodityRow): Promise<TwinRow | undefined> {
  const { tx } = asked
  const delegate = asked.sentDelegate()
  if (delegate !== undefined) {
    const persona = await asked.get(personas, (await tx.get(delegates, delegate))?.persona)
    return asked.get(twins, persona?.twin_id)
  }
  const connection = await callingConnection(asked)
  if (connection) return asked.get(twins, (await tx.get(agentTwins, connection.user_id))?.twin_id)
  const hostname = asked.sentText('hostname')
  if (hostname !== undefined && hostname !== commodity?.hostname) return twinByHostname(tx, hostname)
  const owner = asked.callerOwner()
  return owner === null ? undefined : primaryTwin(tx, owner)
}

/** What a request would have moved. Undefined if the request moves nothing, or if the journal does not show enough. */
export async function priceOf(asked: RefusedRequest): Promise<Price | undefined> {
  if (asked.entry.operation_id === 'payCart') return cartPrice(asked)
  if (asked.sentNumber('amount') !== undefined) return amountPrice(asked)
  const checkout = await checkoutIn(asked)
  if (checkout) {
    const payer = await payerIn(asked)
    const sums = new Map([[checkout.dq, BigInt(checkout.price)]])
    return { payer, payee: undefined, sums, what: `the checkout of “${checkout.name}”` }
  }
  const commodity = await commodityIn(asked)
  if (!commodity) return undefined
  const sums = new Map([[commodity.dq, BigInt(commodity.cost)]])
  const seller = await asked.tx.get(twins, commodity.twin_id)
  const what = `the commodity ${commodity.descriptor}`
  if (asked.entry.operation_id === 'createPayback')
    return { payer: seller, payee: await payerIn(asked), sums, what: `the payback of ${what}` }
  return { payer: await payerIn(asked, commodity), payee: seller, sums, what }
}

async function cartPrice(asked: RefusedRequest): Promise<Price> {
  const sums = new Map<string, bigint>()
  const lines = await asked.rows(cartLines, 'byCart', [Number(asked.params.id)])
  const ids = lines.map(({ catalog_item_id }) => catalog_item_id)
  const hashes = (await asked.tx.getMany(catalogItems, ids)).map((item) => item?.hash ?? '')
  for (const [i, commodity] of (await asked.tx.getMany(commodities, hashes)).entries())
    if (commodity) {
      const cost = BigInt(commodity.cost) * BigInt(lines[i]?.quantity ?? 0)
      sums.set(commodity.dq, (sums.get(commodity.dq) ?? 0n) + cost)
    }
  return { payer: await payerIn(asked), payee: undefined, sums, what: `cart ${asked.params.id}` }
}

async function amountPrice(asked: RefusedRequest): Promise<Price | undefined> {
  const { tx } = asked
  const payer = await payerIn(asked)
  const limit = (await asked.get(delegates, asked.sentDelegate()))?.spend
  const dq = asked.sentText('dq') ?? asked.sentText('paymentTypeHash') ?? limit?.dq ?? payer?.dq
  const quantity = await asked.get(digitalQuantities, dq)
  if (!quantity) return undefined
  const to = asked.sentText('destination') ?? asked.sentText('address') ?? asked.sentText('destinationUrl')
  const payee = to === undefined ? undefined : await twinByHostname(tx, to.replace(/^https?:\/\//, ''))
  const sums = new Map([[quantity.id, toUnits(asked.sentNumber('amount') ?? 0, quantity.decimals)]])
  return { payer, payee, sums, what: to === undefined ? 'this call' : `the payment to ${to}` }
}

/** The plan of the calling account. */
export const subscriptionIn = (asked: RefusedRequest) => subscriptionOf(asked.tx, asked.callerId('account') ?? 0)

/** The invoice that a request or its refusal names. */
export async function invoiceFacts(asked: RefusedRequest) {
  const id = Number(asked.idIn('invoices') ?? asked.numberFact('invoice_id') ?? 0)
  const invoice = await asked.tx.get(invoices, id)
  const total = invoice && Number(invoice.total) / 100
  return {
    ...{ invoice: invoice?.id, invoice_status: invoice?.status, account: invoice?.account_id },
    ...{ total, dollars: total?.toFixed(2), failures: invoice?.failures || null },
    ...{ paid_at: invoice?.paid_at, next_try_at: invoice?.next_try_at },
  }
}
