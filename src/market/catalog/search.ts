import { fieldRefused } from '../../http/fields/field.js'
import { sellerOf, sellerWords } from '../../identity/accounts/account.js'
import { commodityOf } from '../../money/commodities/commodity.js'
import { mapInOrder } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'
import { idsWithWord, wordsOf } from '../../storage/word-index.js'
import { readItemsTogether, type ShownItem, showItem } from './item.js'
import { type CatalogItemRow, catalogItems, catalogWords, countListed } from './item-row.js'

export interface CatalogQuery {
  /** Beginnings of words that must all occur in an item's name, description or seller. Case is ignored. */
  readonly query?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** Unix milliseconds. */
  readonly createdAfter?: number | undefined
  /** The account whose own server is searched. Its private items are included. */
  readonly within?: number | undefined
}

/** How far a page may begin behind the first match. Each match before it is read. */
export const MOST_OFFSET = 1000

/** How many matches are looked at one by one. `total` counts no more of them. */
const MOST_COMPARED = 1000
/** How many words of a query are looked up in the index, and how many parts of a word with signs in it. */
const MOST_WORDS = 6
const MOST_PARTS = 3

interface Found {
  /** Newest first, from the first match on. */
  readonly rows: readonly CatalogItemRow[]
  readonly total: number
}

/** Returns a page of the listed items that match, newest first. It reads no more rows in a larger catalog. */
export async function listCatalogItems(
  tx: Reader,
  { query = '', limit = 20, offset = 0, createdAfter, within }: CatalogQuery,
): Promise<{ items: ShownItem[]; total: number }> {
  if (offset > MOST_OFFSET) throw fieldRefused('offset', `must be at most ${MOST_OFFSET}. Search for words instead`)
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))]
  const wanted = { words, createdAfter, end: offset + limit }
  const listed = words.length > 0 ? await findByWords(tx, wanted) : await newestListed(tx, wanted)
  const own = within === undefined ? [] : await privateMatches(tx, within, wanted)
  const rows = own.length > 0 ? [...listed.rows, ...own].sort((a, b) => (isNewer(a, b) ? -1 : 1)) : listed.rows
  const shown = rows.slice(offset, offset + limit)
  const page = await readItemsTogether(tx, shown)
  return { items: await mapInOrder(shown, (row) => showItem(page, row)), total: listed.total + own.length }
}

interface Wanted {
  readonly words: readonly string[]
  readonly createdAfter: number | undefined
  readonly end: number
}

async function newestListed(tx: Reader, { createdAfter, end }: Wanted): Promise<Found> {
  const total = await countListed(tx)
  const limit = createdAfter === undefined ? end : Math.max(end, MOST_COMPARED)
  const newest = await tx.find(catalogItems, { index: 'listed', prefix: [], limit, reverse: true })
  if (createdAfter === undefined) return { rows: newest, total }
  const rows = newest.filter(({ created_at }) => created_at > createdAfter)
  return { rows, total: rows.length }
}

async function findByWords(tx: Reader, wanted: Wanted): Promise<Found> {
  const words = longest(wanted.words, MOST_WORDS)
  const ids = [...(await idsOfAll(words, (word) => idsOf(tx, word)))].sort((a, b) => b - a)
  // The index knows whole words. It cannot tell about signs between them, or about times.
  const isWhole = words.length === wanted.words.length && words.every((word) => wordsOf(word)[0] === word)
  const isExact = isWhole && wanted.createdAfter === undefined
  if (isExact) return { rows: await itemsOf(tx, ids.slice(0, wanted.end)), total: ids.length }
  const rows = await matching(tx, await itemsOf(tx, ids.slice(0, MOST_COMPARED)), wanted)
  return { rows, total: rows.length }
}

const itemsOf = async (tx: Reader, ids: readonly number[]): Promise<CatalogItemRow[]> =>
  (ids.length > 0 ? await tx.getMany(catalogItems, ids) : []).filter((row) => row !== undefined)

/** The listed items that a word of a query may match: those with all words in it, and those with a hostname like it. */
async function idsOf(tx: Reader, word: string): Promise<Set<number>> {
  const parts = wordsOf(word)
  const found = parts[0] === word ? new Set<number>() : await idsWithWord(tx, catalogWords, word)
  for (const id of await idsOfAll(longest(parts, MOST_PARTS), (part) => idsOfPart(tx, part))) found.add(id)
  return found
}

/** The longest words are the rarest, mostly. */
const longest = (words: readonly string[], most: number): string[] =>
  words.toSorted((a, b) => b.length - a.length).slice(0, most)

async function idsOfAll(words: readonly string[], idsFor: (word: string) => Promise<Set<number>>) {
  let common: Set<number> | undefined
  for (const word of words) {
    const ids = await idsFor(word)
    common = common ? new Set([...common].filter((id) => ids.has(id))) : ids
    if (common.size === 0) break
  }
  return common ?? new Set<number>()
}

async function idsOfPart(tx: Reader, part: string): Promise<Set<number>> {
  const found = await idsWithWord(tx, catalogWords, part)
  let left = MOST_COMPARED
  for (const seller of await idsWithWord(tx, sellerWords, part)) {
    const sold = { index: 'listedByAccount', prefix: [seller], limit: left, reverse: true } as const
    const rows = await tx.find(catalogItems, sold)
    for (const { id } of rows) found.add(id)
    // A seller without items costs a read too.
    left -= rows.length + 1
    if (left <= 0) break
  }
  return found
}

async function privateMatches(tx: Reader, accountId: number, wanted: Wanted): Promise<CatalogItemRow[]> {
  const newest = { index: 'byAccount', prefix: [accountId], limit: MOST_COMPARED, reverse: true } as const
  const own = (await tx.find(catalogItems, newest)).filter((row) => row.private && row.active && !row.archived)
  return matching(tx, own, wanted)
}

const isNewer = (a: CatalogItemRow, b: CatalogItemRow): boolean =>
  a.created_at > b.created_at || (a.created_at === b.created_at && a.id > b.id)

async function matching(tx: Reader, rows: readonly CatalogItemRow[], { words, createdAfter }: Wanted) {
  const recent = rows.filter(({ created_at }) => createdAfter === undefined || created_at > createdAfter)
  if (words.length === 0) return recent
  const page = await readItemsTogether(tx, recent)
  const found: CatalogItemRow[] = []
  for (const row of recent) {
    const commodity = await commodityOf(page, row.hash)
    const texts = [row.name, row.description, await sellerOf(page, commodity), commodity.hostname]
    if (hasWords(texts.join('\n').toLowerCase(), words)) found.push(row)
  }
  return found
}

function hasWords(text: string, words: readonly string[]): boolean {
  const own = wordsOf(text)
  const begins = (part: string) => own.some((word) => word.startsWith(part))
  return words.every((word) => text.includes(word) && wordsOf(word).every(begins))
}
