import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { listCatalogItems, MOST_OFFSET } from '../../market/catalog/search.js'
import { ReadOnce } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'
import { wordsOf } from '../../storage/word-index.js'
import { addressIn } from '../wallets/evm.js'
import { payToOf, twinOfAddress } from '../wallets/wallet.js'
import { itemResources } from './catalog-resources.js'
import { BAZAAR } from './description.js'
import { type ListedResourceRow, listedResources, MOST_RESOURCES, type WayToPay } from './resource-row.js'

/** A resource as the discovery of x402 shows it (specification, section 8). */
export interface ShownResource {
  resource: string
  type: string
  x402Version: number
  accepts: WayToPay[]
  /** ISO 8601. */
  lastUpdated: string
  description?: string
  mimeType?: string
  serviceName?: string
  extensions: Record<string, unknown>
}

export interface DiscoveryQuery {
  /** Beginnings of words that must all occur. */
  readonly query?: string | undefined
  readonly type?: string | undefined
  readonly payTo?: string | undefined
  readonly scheme?: string | undefined
  readonly network?: string | undefined
  /** The name of an extension. */
  readonly extensions?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** A page of the resources that match: those of shops, the latest paid first, and then the items of the catalog. */
export async function listDiscoverable(
  tx: Reader,
  { limit = 20, offset = 0, ...filter }: DiscoveryQuery,
  service: Pick<ServiceContext, 'baseUrl' | 'options'>,
): Promise<{ resources: ShownResource[]; limit: number; offset: number; total: number }> {
  // What the items and their payees have in common is read once.
  const page = new ReadOnce(tx)
  const newest = { index: 'byTime', prefix: [], limit: MOST_RESOURCES, reverse: true } as const
  const listed = (await tx.find(listedResources, newest)).filter((row) => matches(row, filter))
  const shown = listed.slice(offset, offset + limit).map(showResource)
  const behind = Math.max(0, offset - listed.length)
  const items = await matchingItems(page, { ...filter, limit: limit - shown.length, offset: behind }, service)
  const resources = [...shown, ...(await itemResources(page, items.items, service))]
  return { resources, limit, offset, total: listed.length + items.total }
}

function matches(
  row: ListedResourceRow,
  { query = '', type, payTo, scheme, network, extensions }: DiscoveryQuery,
): boolean {
  if (type !== undefined && row.type !== type) return false
  if (extensions !== undefined && extensions !== BAZAAR) return false
  const isPaid = row.accepts.some(
    (way) =>
      (payTo === undefined || way.payTo.toLowerCase() === payTo.toLowerCase()) &&
      (scheme === undefined || way.scheme === scheme) &&
      (network === undefined || way.network === network),
  )
  if (!isPaid) return false
  const own = wordsOf([row.resource, row.description, JSON.stringify(row.extension.info)].join('\n'))
  return wordsOf(query).every((word) => own.some((other) => other.startsWith(word)))
}

const showResource = (row: ListedResourceRow): ShownResource => ({
  ...{ resource: row.resource, type: row.type, x402Version: 2, accepts: [...row.accepts] },
  lastUpdated: new Date(row.updated_at).toISOString(),
  ...(row.description !== null && { description: row.description }),
  ...(row.mime_type !== null && { mimeType: row.mime_type }),
  extensions: { [BAZAAR]: row.extension },
})

/** How many resources a page may skip. */
export const MOST_SKIPPED = MOST_OFFSET

const NONE = { items: [], total: 0 }

async function matchingItems(
  tx: Reader,
  { query = '', type, payTo, scheme, network, extensions, limit = 0, offset = 0 }: DiscoveryQuery,
  { options }: Pick<ServiceContext, 'options'>,
): Promise<Awaited<ReturnType<typeof listCatalogItems>>> {
  const isKnown = (asked: string | undefined, ...known: readonly string[]) =>
    asked === undefined || known.includes(asked)
  const [offered] = options.dialects.networks
  if (
    !isKnown(type, 'http') ||
    !isKnown(scheme, 'exact') ||
    !isKnown(extensions, BAZAAR) ||
    !isKnown(network, offered?.network ?? '')
  )
    return NONE
  if (payTo !== undefined) {
    const payee = await hostnameAt(tx, payTo)
    return payee === undefined ? NONE : itemsPaidTo(tx, payee, { query, limit, offset })
  }
  // One at least, because the total is asked for too.
  const page = { limit: Math.max(1, limit), offset: Math.min(offset, MOST_OFFSET) }
  const found = await listCatalogItems(tx, { ...page, query })
  return { items: found.items.slice(0, limit), total: found.total }
}

/** The catalog finds items by the hostname of their payee, and others that only mention it. */
async function itemsPaidTo(
  tx: Reader,
  payee: string,
  { query, limit, offset }: { query: string; limit: number; offset: number },
): ReturnType<typeof listCatalogItems> {
  const { items } = await listCatalogItems(tx, { query: `${query} ${payee}`, limit: MOST_OFFSET })
  const paid = items.filter(({ hostname }) => hostname === payee)
  return { items: paid.slice(offset, offset + limit), total: paid.length }
}

/** The hostname of the twin that is paid at an address: the catalog finds its items by it. */
async function hostnameAt(tx: Reader, payTo: string): Promise<string | undefined> {
  const address = addressIn(payTo)
  if (address === undefined) throw fieldRefused('payTo', 'must be 0x and 40 hex digits')
  const twin = await twinOfAddress(tx, address)
  return twin && (await payToOf(tx, twin)) === address ? twin.hostname : undefined
}
