import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import { uuidFrom } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import { countedDaily } from '../../storage/growth.js'
import { getOrNotFound, mapInOrder, newestFirst, ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type DigitalQuantityRow, quantityOf, readQuantities } from '../digital-quantities/digital-quantity.js'
import { moneyText, toAmount, toUnits } from '../ledger/amount.js'
import { twins } from '../twins/twin.js'

/** Something that a seller sells. The id is its hash. */
export interface CommodityRow {
  readonly id: string
  /** Counts commodities in the order of their creation. */
  readonly number: number
  /** Name and receipt line. */
  readonly descriptor: string
  readonly dq: string
  /** Smallest units; 0 is free. */
  readonly cost: string
  readonly twin_id: number
  readonly owner: Owner
  readonly hostname: string
  /** Present if the seller pays the price to users, instead of users paying it. */
  readonly payback?: true
  readonly created_at: number
}

export const commodities = collection<CommodityRow>()(
  'commodities',
  { byOwner: { fields: ['owner', 'number'] } },
  {
    refs: { dq: 'digital_quantities', twin_id: 'twins' },
    growth: countedDaily('an account, by createCommodity'),
    retention: { forever: 'Payments name it.' },
  },
)

export interface NewCommodity {
  readonly descriptor: string
  readonly dq: string
  /** In the digital quantity. */
  readonly cost: number
  readonly twinId: number
  readonly owner: Owner
  readonly at: number
  /** Whether the seller pays the price to users. Default: false. */
  readonly payback?: boolean | undefined
  /** Set by a seed. Default: a random UUID. */
  readonly hash?: string | undefined
}

/** Creates a commodity. Throws `twin_unknown` if the owner has no such twin, `dq_unknown`, `amount_invalid`. */
export async function createCommodity(
  tx: Writer,
  { descriptor, dq, cost, twinId, owner, at, payback, hash }: NewCommodity,
  { random }: Pick<ServiceContext, 'random'>,
) {
  const { decimals } = await quantityOf(tx, dq)
  const twin = await tx.get(twins, twinId)
  if (twin?.owner !== owner) throw problem('twin_unknown')
  const row: CommodityRow = {
    id: hash ?? uuidFrom(random.bytes(16)),
    number: await tx.nextId('commodities'),
    descriptor,
    dq,
    cost: String(toUnits(cost, decimals)),
    twin_id: twin.id,
    owner,
    hostname: twin.hostname,
    ...(payback && { payback }),
    created_at: at,
  }
  tx.put(commodities, row)
  return showCommodity(tx, row)
}

/** Changes a commodity for later payments. Undefined leaves a value unchanged. Throws like `createCommodity`. */
export async function updateCommodity(
  tx: Writer,
  row: CommodityRow,
  change: { [K in 'descriptor' | 'dq' | 'cost' | 'twinId']?: NewCommodity[K] | undefined },
): Promise<void> {
  const { descriptor = row.descriptor, dq = row.dq } = change
  const was = await quantityOf(tx, row.dq)
  const { decimals } = await quantityOf(tx, dq)
  const twin = await tx.get(twins, change.twinId ?? row.twin_id)
  if (twin?.owner !== row.owner) throw problem('twin_unknown')
  const cost = String(toUnits(change.cost ?? toAmount(row.cost, was.decimals), decimals))
  tx.put(commodities, { ...row, descriptor, dq, cost, twin_id: twin.id, hostname: twin.hostname })
}

/** Turns on or off that the seller pays the price of a commodity to users. Throws `not_found`, `not_owner`, `sold_by_item`. */
export async function updatePayback(
  tx: Writer,
  { owner, hash, enabled, at }: { owner: Owner; hash: string; enabled: boolean; at: number },
  { rules }: Pick<ServiceContext, 'rules'>,
) {
  const { payback, ...row } = await ownCommodity(tx, owner, hash)
  // What pays its users cannot be bought.
  if (enabled && (await rules.isSoldByItem(tx, hash))) throw problem('sold_by_item')
  if (enabled === (payback ?? false)) return { hash, enabled }
  tx.put(commodities, { ...row, ...(enabled && { payback: true }) })
  const type = enabled ? 'account.payback_enabled' : 'account.payback_disabled'
  await recordEvent(tx, { owners: [owner], type, actor: owner, subject: `commodity:${hash}`, data: { hash }, at })
  return { hash, enabled }
}

/** Throws `not_found`. */
export const commodityOf = (tx: Reader, hash: string): Promise<CommodityRow> => getOrNotFound(tx, commodities, hash)

/** Reads the commodities of a page's rows and their digital quantities in two calls. Returns those that exist. */
export async function readCommodities(page: ReadOnce, rows: readonly { readonly hash: string }[]) {
  const hashes = rows.map(({ hash }) => hash)
  const found = (await page.getMany(commodities, hashes)).filter((row) => row !== undefined)
  await readQuantities(page, found)
  return found
}

export async function ownCommodity(tx: Reader, owner: Owner, hash: string): Promise<CommodityRow> {
  const row = await commodityOf(tx, hash)
  if (row.owner !== owner) throw problem('not_owner')
  return row
}

export interface ShownCommodity {
  hash: string
  descriptor: string
  dq: string
  cost: number
  hostname: string
}

/** A commodity's five documented fields, with the cost in its digital quantity. */
export async function showCommodity(tx: Reader, row: CommodityRow): Promise<ShownCommodity> {
  const { decimals } = await quantityOf(tx, row.dq)
  const { id: hash, descriptor, dq, hostname } = row
  return { hash, descriptor, dq, cost: toAmount(row.cost, decimals), hostname }
}

export async function listCommodities(
  tx: Reader,
  owner: Owner,
  page: { limit?: number | undefined; after?: string | undefined },
) {
  const { rows, next } = await newestFirst(tx, commodities, { index: 'byOwner', prefix: [owner], ...page })
  const read = new ReadOnce(tx)
  await readQuantities(read, rows)
  return { commodities: await mapInOrder(rows, (row) => showCommodity(read, row)), next }
}

/** The price that the payer saw, and its digital quantity. Absent fields are not compared. */
export interface PriceQuote {
  /** In the digital quantity: a number or decimal digits. */
  readonly price?: number | string | undefined
  readonly dq?: string | undefined
}

/** The price that is charged now. */
export interface CurrentPrice {
  readonly quantity: DigitalQuantityRow
  /** Smallest units. */
  readonly amount: bigint
}

/** Checks that the price is the one that the payer saw. Throws `price_changed` with the current `{price, dq}` and `fields`. */
export function checkQuote(seen: PriceQuote, present: CurrentPrice, fields: ProblemFields = {}): void {
  const { quantity, amount } = present
  const price = toAmount(amount, quantity.decimals)
  const isSame =
    (seen.price === undefined || Number(seen.price) === price) && [undefined, quantity.id].includes(seen.dq)
  if (isSame) return
  const detail = `It now costs ${moneyText(amount, quantity)}.`
  throw problem('price_changed', { detail, fields: { ...fields, price, dq: quantity.id } })
}
