import { checkHops } from '../../base/via.js'
import type { ServiceContext } from '../../http/context.js'
import { ownItem } from '../catalog/item.js'
import { decryptParameters } from '../catalog/parameter.js'
import { type Arguments, checkArguments } from '../catalog/schema.js'
import { endpointRequest } from './dispatch.js'
import { callEndpoint, type ServiceAnswer } from './fulfilment.js'

/**
 * Calls an item's endpoint as a purchase does, for its own account. Nobody pays, and nothing is stored.
 * Throws `too_many_hops`, `not_found`, `arguments_refused`, `parameter_unreadable`.
 */
export async function rehearsePurchase(
  { accountId, itemId, args, hops }: { accountId: number; itemId: number; args: Arguments; hops: number },
  service: ServiceContext,
): Promise<ServiceAnswer> {
  checkHops(hops)
  const request = await service.storage.read(async (tx) => {
    const item = await ownItem(tx, accountId, itemId)
    checkArguments(item.service_schema, args)
    return endpointRequest(item, args, await decryptParameters(tx, item.id, service))
  })
  return callEndpoint({ request, hops }, service)
}
