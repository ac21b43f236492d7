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

/** Authenticates again in the first write, because the user may have signed out meanwhile. Throws `sign_in_required` then. */
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
