import { clientAddress } from './client-address.js'
import type { Maker, ServiceContext } from './context.js'
import type { Incoming } from './incoming.js'
import type { Principal } from './route.js'

/**
 * Whose limits count what a call creates. Anybody can send the publishable secret of an embed, and guests are nobody yet:
 * they count by their address.
 */
export function makerOf(
  principal: Principal,
  { source, headers }: Pick<Incoming, 'source' | 'headers'>,
  service: Pick<ServiceContext, 'trustsProxy'>,
): Maker {
  if ('owner' in principal) return { owner: principal.owner }
  if (principal.kind === 'guest' && principal.user_id !== null) return { owner: `user:${principal.user_id}` }
  return { address: clientAddress(source, headers, service) }
}
