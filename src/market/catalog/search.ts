import { problem } from '../../base/problem.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { commodityOf } from '../../money/commodities/commodity.js'
import { keyOf } from '../../storage/key.js'
import { allRows } from '../../storage/page.js'
import type { Key, Reader } from '../../storage/storage.js'
import { type CatalogItemRow, catalogItems, readItemsTogether, type ShownItem, showItem } from './item.js'

export interface CatalogQuery {
  /** Words that must all occur in an item's name, description or seller. Case is ignored. */
  readonly query?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** Unix milliseconds. */
  readonly createdAfter?: number | undefined
  /** The account whose own server is searched. Its private items are included. */
  readonly within?: number | undefined
}

/** Returns one page of the listed items that match, newest first, and how many match in all. */
export async function listCatalogItems(
  tx: Reader,
  { query = '', limit = 20, offset = 0, createdAfter, within }: CatalogQuery,
): Promise<{ items: ShownItem[]; total: number }> {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const sold: CatalogItemRow[] = []
  for await (const row of newestForSale(tx, within)) {
    if (createdAfter !== undefined && row.created_at <= createdAfter) break
    sold.push(row)
  }
  const found = words.length > 0 ? await matching(tx, sold, words) : sold
  const rows = found.slice(offset, offset + limit)
  const page = await readItemsTogether(tx, rows)
  const items = []
  for (const row of rows) items.push(await showItem(page, row))
  return { items, total: found.length }
}

/** Listed items and the private items of one account, newest first. */
async function* newestForSale(tx: Reader, within: number | undefined): AsyncGenerator<CatalogItemRow> {
  const own = within === undefined ? [] : await privateItems(tx, within)
  for await (const row of newestListed(tx)) {
    for (let next = own[0]; next && isNewer(next, row); next = own[0]) {
      own.shift()
      yield next
    }
    yield row
  }
  yield* own
}

/** The private items of an account that are for sale, newest first. */
async function privateItems(tx: Reader, accountId: number): Promise<CatalogItemRow[]> {
  const found: CatalogItemRow[] = []
  for await (const row of allRows(tx, catalogItems, { index: 'byAccount', prefix: [accountId] }))
    if (row.private && row.active && !row.archived) found.push(row)
  return found.sort((a, b) => (isNewer(a, b) ? -1 : 1))
}

const isNewer = (a: CatalogItemRow, b: CatalogItemRow): boolean =>
  a.created_at > b.created_at || (a.created_at === b.created_at && a.id > b.id)

/**
 * Returns an item that the catalog sells, or the own server of the account `within`. Throws `not_found`.
 */
export async function itemForSale(tx: Reader, id: number, within: number | undefined): Promise<ShownItem> {
  const row = await tx.get(catalogItems, id)
  if (!row || (row.private && row.account_id !== within)) throw problem('not_found')
  return showItem(tx, row)
}

async function* newestListed(tx: Reader): AsyncGenerator<CatalogItemRow> {
  let after: Key[] | undefined
  for (;;) {
    const query = { index: 'listed', prefix: [], limit: 500, reverse: true, ...(after && { after }) } as const
    const rows = await tx.find(catalogItems, query)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < 500) return
    after = keyOf(catalogItems.indexes.listed, last)
  }
}

/** Returns the items in which all of the words occur. Reads the seller of an item only if its own text lacks a word. */
async function matching(
  tx: Reader,
  rows: readonly CatalogItemRow[],
  words: readonly string[],
): Promise<readonly CatalogItemRow[]> {
  const missing = new Map(rows.map((row) => [row.id, missingWords(row, words)]))
  const lacking = rows.filter(({ id }) => missing.get(id)?.length)
  const page = await readItemsTogether(tx, lacking)
  const refused = new Set<number>()
  for (const { id, hash } of lacking) {
    const seller = (await sellerOf(page, await commodityOf(page, hash))).toLowerCase()
    if (missing.get(id)?.some((word) => !seller.includes(word))) refused.add(id)
  }
  return rows.filter(({ id }) => !refused.has(id))
}

/** The words that an item's own text lacks. */
function missingWords({ name, description }: CatalogItemRow, words: readonly string[]): string[] {
  const own = `${name}\n${description}`.toLowerCase()
  return words.filter((word) => !own.includes(word))
}
