import { commodityOf } from '../../money/commodities/commodity.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { reindex, wordIndex, wordsOf } from '../../storage/word-index.js'
import type { CatalogItemRow } from './item-row.js'

/** Finds listed items by the words of their name and description, and by their hostname. */
export const catalogWords = wordIndex('catalog_words', 'no listed item has the word')

/** How many items are listed. */
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
