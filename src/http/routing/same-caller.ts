import { problem } from '../../base/problem.js'
import { ObservedStorage } from '../../storage/service-storage.js'
import type { Reader } from '../../storage/storage.js'
import type { Caller } from '../caller.js'
import type { ServiceContext } from '../context.js'
import type { Principal } from '../route.js'

function userIdOf(principal: Principal): number | null {
  if (principal.kind === 'user') return principal.id
  return 'user_id' in principal ? principal.user_id : null
}

/**
 * The service for a handler that opens its own transactions. The user's credentials may end between authentication and
 * the first write, for example by sign-out, so `authenticate` authenticates again in that write. Throws what `authenticate` throws,
 * and `sign_in_required` if the session has a different user or none.
 */
export function forSameCaller(
  service: ServiceContext,
  principal: Principal,
  authenticate: (tx: Reader) => Promise<Caller>,
): ServiceContext {
  const userId = userIdOf(principal)
  if (userId === null) return service
  let isSure = false
  const storage = new ObservedStorage(service.storage, {
    async before(tx) {
      if (!isSure && userIdOf((await authenticate(tx)).principal) !== userId) throw problem('sign_in_required')
    },
    hasWritten() {
      isSure = true
    },
  })
  return { ...service, storage }
}
