import { accountIdOf, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { type CommodityRow, commodityOf } from '../../money/commodities/commodity.js'
import type { Reader } from '../../storage/storage.js'
import { catalogItems } from './item-row.js'

/** Throws `item_inactive` if a commodity's item is inactive, archived, or private to another account than `within`. */
export async function checkForSale(tx: Reader, hash: string, within?: number): Promise<void> {
  const [item] = await tx.find(catalogItems, { index: 'byCommodity', prefix: [hash], limit: 1 })
  if (!item) return
  if (!item.active || item.archived) throw problem('item_inactive')
  if (item.private && item.account_id !== within)
    throw problem('item_inactive', { detail: "It is private. Only its seller's own MCP server sells it." })
}

/** Whether an item sells a commodity, even if it is inactive or archived. */
export const isSoldByItem = async (tx: Reader, hash: string): Promise<boolean> =>
  (await tx.find(catalogItems, { index: 'byCommodity', prefix: [hash], limit: 1 })).length > 0

/** Returns the commodity of the oldest active item whose endpoint is exactly this URL. */
export async function itemCalledAt(tx: Reader, url: URL): Promise<CommodityRow | undefined> {
  const [item] = await tx.find(catalogItems, { index: 'byEndpoint', prefix: [url.href], limit: 1 })
  return item && commodityOf(tx, item.hash)
}

/** Throws `item_inactive` if the payee has items with this endpoint and none of them is active. */
export async function checkEndpointForSale(tx: Reader, url: URL, payee: Owner): Promise<void> {
  const accountId = accountIdOf(payee)
  if (accountId === undefined) return
  const prefix = [url.href, accountId]
  const [idle] = await tx.find(catalogItems, { index: 'idleByEndpoint', prefix, limit: 1 })
  if (!idle) return
  const [active] = await tx.find(catalogItems, { index: 'activeByEndpoint', prefix, limit: 1 })
  if (!active) throw problem('item_inactive')
}
