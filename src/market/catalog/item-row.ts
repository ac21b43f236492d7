import { accountIdOf, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { type CommodityRow, commodityOf } from '../../money/commodities/commodity.js'
import { countedDaily } from '../../storage/growth.js'
import { getOrNotFound } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { reindex, wordIndex, wordsOf } from '../../storage/word-index.js'
import type { SellerSchema } from './schema.js'

/** Something that is sold to agents. Its commodity has its price, twin and descriptor. */
export interface CatalogItemRow {
  readonly id: number
  readonly account_id: number
  /** The hash of its commodity. */
  readonly hash: string
  readonly name: string
  /** The item's name as a tool of its account's MCP server. Unique within the account. */
  readonly tool_name: string
  readonly description: string
  readonly service_method: 'GET' | 'POST' | 'PUT'
  /** May contain placeholders. */
  readonly external_endpoint: string
  readonly service_schema: SellerSchema
  readonly active: boolean
  /** Only the account's own MCP server sells it. */
  readonly private: boolean
  readonly featured: boolean
  readonly archived: boolean
  /** When it was created, if the catalog lists it. */
  readonly listed_at: number | null
  /** The URL of its endpoint, if it is active and has no placeholders. */
  readonly called_at: string | null
  /** The same URL, while the item is inactive or archived. */
  readonly idle_at: string | null
  /** The account's id, if the item is active. */
  readonly active_of: number | null
  readonly created_at: number
  readonly updated_at: number
}

export const catalogItems = collection<CatalogItemRow>()(
  'catalog_items',
  {
    byAccount: { fields: ['account_id'] },
    byToolName: { fields: ['account_id', 'tool_name'], unique: true },
    byCommodity: { fields: ['hash'], unique: true },
    listed: { fields: ['listed_at'] },
    listedByAccount: { fields: ['account_id', 'listed_at'] },
    byEndpoint: { fields: ['called_at'] },
    activeByEndpoint: { fields: ['called_at', 'account_id'] },
    idleByEndpoint: { fields: ['idle_at', 'account_id'] },
    activeByAccount: { fields: ['active_of'] },
  },
  {
    refs: { account_id: 'accounts', hash: 'commodities' },
    growth: countedDaily('an account, by createCatalogItem or createTool. Its plan limits the active ones'),
    retention: { forever: 'Receipts name it, and its owner can restore it.' },
  },
)

/** Returns an item that everyone sees, or that is private to the account `within`. Throws `not_found`. */
export async function visibleItem(tx: Reader, id: number, within: number | undefined): Promise<CatalogItemRow> {
  const row = await getOrNotFound(tx, catalogItems, id)
  if (!isVisible(row, within)) throw problem('not_found')
  return row
}

/** Finds listed items by the words of their name and description, and by their hostname. */
export const catalogWords = wordIndex('catalog_words', 'no listed item has the word')

export interface CatalogCountRow {
  readonly id: 'listed'
  readonly items: number
}

export const catalogCounts = collection<CatalogCountRow>()(
  'catalog_counts',
  {},
  { growth: { by: 'the service', bound: 'It is one row.' }, retention: { forever: 'It is one number.' } },
)

export const countListed = async (tx: Reader): Promise<number> => (await tx.get(catalogCounts, 'listed'))?.items ?? 0

type Worded = Pick<CatalogItemRow, 'name' | 'description' | 'hash' | 'listed_at'>

/** The words by which the catalog finds an item. Empty if it is not listed. */
export async function itemWords(tx: Reader, { name, description, hash, listed_at }: Worded): Promise<string[]> {
  if (listed_at === null) return []
  const { hostname } = await commodityOf(tx, hash)
  // A hostname is one word, because all have their ending in common.
  return [...new Set([...wordsOf(`${name}\n${description}`), hostname])]
}

/** Puts a changed item into the index of words, or out of it. `before`: its words before the change. */
export async function indexItem(tx: Writer, row: CatalogItemRow, before: readonly string[]): Promise<void> {
  const after = await itemWords(tx, row)
  await reindex(tx, catalogWords, { id: row.id, before, after })
  // A listed item has its hostname at least.
  const change = Math.sign(after.length) - Math.sign(before.length)
  if (change !== 0) tx.put(catalogCounts, { id: 'listed', items: (await countListed(tx)) + change })
}

/** Throws `item_inactive` if a commodity's item is inactive, archived, or private to another account than `within`. */
export async function checkForSale(tx: Reader, hash: string, within?: number): Promise<void> {
  const [item] = await tx.find(catalogItems, { index: 'byCommodity', prefix: [hash], limit: 1 })
  if (!item) return
  if (!item.active || item.archived) throw problem('item_inactive')
  if (!isVisible(item, within))
    throw problem('item_inactive', { detail: "It is private. Only its seller's own MCP server sells it." })
}

/** Whether an item sells a commodity, even if it is inactive or archived. */
export const isSoldByItem = async (tx: Reader, hash: string): Promise<boolean> =>
  (await tx.find(catalogItems, { index: 'byCommodity', prefix: [hash], limit: 1 })).length > 0

/** How many items with one endpoint are looked at. Anybody may create some with the endpoint of others. */
const MOST_AT_ENDPOINT = 100

const isVisible = ({ private: isPrivate, account_id }: CatalogItemRow, within: number | undefined): boolean =>
  !isPrivate || account_id === within

/** Returns the commodity of the oldest active item whose endpoint is exactly this URL, as the account `within` sees it. */
export async function itemCalledAt(tx: Reader, url: URL, within?: number): Promise<CommodityRow | undefined> {
  const called = await tx.find(catalogItems, { index: 'byEndpoint', prefix: [url.href], limit: MOST_AT_ENDPOINT })
  const item = called.find((each) => isVisible(each, within))
  return item && commodityOf(tx, item.hash)
}

/** Throws `item_inactive` if the payee has items with this endpoint, and none is active and visible within the account. */
export async function checkEndpointForSale(tx: Reader, url: URL, payee: Owner, within?: number): Promise<void> {
  const accountId = accountIdOf(payee)
  if (accountId === undefined) return
  const prefix = [url.href, accountId]
  const active = await tx.find(catalogItems, { index: 'activeByEndpoint', prefix, limit: MOST_AT_ENDPOINT })
  if (active.some((each) => isVisible(each, within))) return
  const [idle] = await tx.find(catalogItems, { index: 'idleByEndpoint', prefix, limit: 1 })
  if (idle || active.length > 0) throw problem('item_inactive')
}
