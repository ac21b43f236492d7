import type { ServiceContext } from '../../../http/context.js'
import { createCatalogItem, type ShownItem } from '../../../market/catalog/item.js'
import type { Writer } from '../../../storage/storage.js'
import { rootUrl } from '../../onion/fork-urls.js'
import { type AccountNames, accountNamed, accountOwner, payeeNamed, quantityNamed } from './names.js'
import type { Seed } from './seed-schema.js'

export async function plantItems(
  tx: Writer,
  items: NonNullable<Seed['items']>,
  names: AccountNames,
  service: ServiceContext,
) {
  const made: ShownItem[] = []
  for (const { account, hostname, dq, description = '', external_endpoint, ...terms } of items) {
    const accountId = accountNamed(names, account)
    const twin = await payeeNamed(tx, accountOwner(accountId), hostname)
    const called = external_endpoint.startsWith('/') ? rootUrl(service) + external_endpoint : external_endpoint
    const { service_method = 'GET', service_schema = { type: 'object', properties: {} }, ...rest } = terms
    const item = { ...rest, description, service_method, service_schema, external_endpoint: called }
    const place = { accountId, at: service.clock.now(), dq: (await quantityNamed(tx, dq)).id, twin_id: twin?.id ?? 0 }
    made.push(await createCatalogItem(tx, { ...item, ...place }, service))
  }
  return made
}
