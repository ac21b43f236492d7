import { accountByPublicSecret } from '../../identity/accounts/account.js'
import { catalogItems } from '../../market/catalog/item-row.js'
import { moveEndpoints } from '../../market/catalog/moved-endpoints.js'
import { allRows } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { OwnItem } from '../onion/context.js'

/**
 * Moves the endpoints at a service's former base URL to the one that it has now. Where the items of its seed are
 * fulfilled shows the former one: so it does in states of every release, and in snapshots.
 */
export async function followBaseUrl(tx: Writer, ownItems: readonly OwnItem[], to: string): Promise<void> {
  const from = await formerBaseUrl(tx, ownItems)
  if (from !== undefined && from !== to) await moveEndpoints(tx, { from, to })
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
