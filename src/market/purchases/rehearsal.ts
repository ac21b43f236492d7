import { checkHops } from '../../base/via.js'
import type { ServiceContext } from '../../http/context.js'
import { ownItem } from '../catalog/item.js'
import { decryptParameters } from '../catalog/parameter.js'
import { type Arguments, checkArguments } from '../catalog/schema.js'
import { spendCalls } from './call-limits.js'
import { endpointRequest } from './dispatch.js'
import { callEndpoint, type ServiceAnswer } from './fulfilment.js'

/**
 * Calls an item's endpoint as a purchase does, for its own account. Nobody pays, and only the call is counted, because
 * the endpoint may be anybody's. Throws `too_many_hops`, `not_found`, `arguments_refused`, `too_many_calls`,
 * `parameter_unreadable`.
 */
export async function rehearsePurchase(
  { accountId, itemId, args, hops }: { accountId: number; itemId: number; args: Arguments; hops: number },
  service: ServiceContext,
): Promise<ServiceAnswer> {
  checkHops(hops)
  const request = await service.storage.write(async (tx) => {
    const item = await ownItem(tx, accountId, itemId)
    checkArguments(item.service_schema, args)
    const by = { bearer: `account:${accountId}`, at: service.clock.now() } as const
    await spendCalls(tx, [{ endpoint: item.external_endpoint, amount: 0n, calls: 1 }], by, service)
    return endpointRequest(item, args, await decryptParameters(tx, item.id, service))
  })
  return callEndpoint({ request, hops }, service)
}
