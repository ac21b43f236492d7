import type { ServiceContext } from '../../http/context.js'
import { accountByPublicSecret } from '../../identity/accounts/account.js'
import { catalogItems } from '../../market/catalog/item-row.js'
import { moveEndpoints } from '../../market/catalog/moved-endpoints.js'
import { allRows } from '../../storage/page.js'
import { type Reader, StorageUnavailable } from '../../storage/storage.js'
import type { OwnItem } from '../onion/context.js'
import { rootUrl } from '../onion/fork-urls.js'

/**
 * Moves the endpoints at a service's former base URL to the one that it has now: at the next start, if nothing can be
 * stored. Where the items of its seed are fulfilled shows the former one: so it does in states of every release, and in
 * snapshots.
 */
export async function followBaseUrl(service: ServiceContext, ownItems: readonly OwnItem[]): Promise<void> {
  const to = rootUrl(service)
  try {
    await service.storage.write(async (tx) => {
      const from = await formerBaseUrl(tx, ownItems)
      if (from !== undefined && from !== to) await moveEndpoints(tx, { from, to })
    })
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    service.log.error(
      'The address at which this sandbox sells could not be stored. Its own items fail until the next start.',
      error,
    )
  }
}

async function formerBaseUrl(tx: Reader, ownItems: readonly OwnItem[]): Promise<string | undefined> {
  for (const { publicSecret, name, path } of ownItems) {
    const account = publicSecret === undefined ? undefined : await accountByPublicSecret(tx, publicSecret)
    if (!account) continue
    for await (const item of allRows(tx, catalogItems, { index: 'byAccount', prefix: [account.id] }))
      if (item.name === name && item.external_endpoint.endsWith(path))
        return item.external_endpoint.slice(0, -path.length)
  }
  return undefined
}
