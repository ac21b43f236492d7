import { Problem, problem } from '../../base/problem.js'
import { showItem } from '../../market/catalog/item.js'
import { visibleItem } from '../../market/catalog/item-row.js'
import { listCatalogItems } from '../../market/catalog/search.js'
import { listPurchases, readPurchase } from '../../market/purchases/receipt.js'
import type { Reader } from '../../storage/storage.js'
import { plainLine } from './tools/plain.js'
import type { McpVisit } from './tools/visit.js'

/** The newest items for sale. */
export const CATALOG = 'farthing://catalog'
const ON_A_PAGE = 50
const JSON_TYPE = { mimeType: 'application/json' }

/** The catalog and the user's receipts, newest first. `cursor`: from the previous page. Throws `cursor_invalid`. */
export async function listResources(tx: Reader, { agent, service }: McpVisit, cursor: string | undefined) {
  const after = cursor === undefined ? undefined : Number(cursor)
  if (after !== undefined && !Number.isSafeInteger(after)) throw problem('cursor_invalid')
  const { purchases, next } = await listPurchases(tx, agent.owner, { limit: ON_A_PAGE, after }, service)
  const receipts = purchases.map(({ transaction_id: id, name, seller }) => ({
    uri: receiptUri(id),
    name: `receipt-${id}`,
    title: `${plainLine(name)}, from ${plainLine(seller)}`,
    ...JSON_TYPE,
  }))
  return {
    resources: cursor === undefined ? [catalog, ...receipts] : receipts,
    ...(next !== null && { nextCursor: String(next) }),
  }
}

export const receiptUri = (id: number): string => `farthing://receipts/${id}`

const catalog = {
  uri: CATALOG,
  name: 'catalog',
  title: 'Catalog',
  description: `Items for sale: the newest ${ON_A_PAGE}, and the total number.`,
  ...JSON_TYPE,
}

export const resourceTemplates = [
  {
    uriTemplate: `${CATALOG}{?query,offset}`,
    name: 'catalog-page',
    title: 'Page of the catalog',
    description: `${ON_A_PAGE} items that contain all words of \`query\`, after the first \`offset\`.`,
    ...JSON_TYPE,
  },
  { uriTemplate: `${CATALOG}/{id}`, name: 'catalog-item', title: 'Item of the catalog', ...JSON_TYPE },
  {
    uriTemplate: 'farthing://receipts/{id}',
    name: 'receipt',
    title: 'Receipt',
    description: 'The receipt of a purchase with the delivered content.',
    ...JSON_TYPE,
  },
]

/** Returns the content of a resource, or undefined if there is none with this URI. */
export async function readResource(tx: Reader, visit: McpVisit, uri: string): Promise<object | undefined> {
  const [, kind, id, query] = /^farthing:\/\/(catalog|receipts)(?:\/(\d{1,15}))?(?:\?(.*))?$/.exec(uri) ?? []
  if (kind === undefined || (kind === 'receipts' && id === undefined) || (id !== undefined && query !== undefined))
    return undefined
  try {
    if (kind === 'receipts') return await readPurchase(tx, visit.agent.owner, Number(id), visit.service)
    if (id !== undefined) return await showItem(tx, await visibleItem(tx, Number(id), visit.within))
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return undefined
    throw error
  }
  return catalogPage(tx, visit, new URLSearchParams(query))
}

function catalogPage(tx: Reader, { within }: McpVisit, page: URLSearchParams): Promise<object> {
  const offset = Math.max(0, Math.trunc(Number(page.get('offset'))) || 0)
  return listCatalogItems(tx, { query: page.get('query') ?? '', offset, limit: ON_A_PAGE, within })
}
