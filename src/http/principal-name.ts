import type { Principal } from './route.js'

/** Longer than any id that the service gave. A caller may send any text. */
const LONGEST_ID = 64

/**
 * What the journal and faults call a caller: `account:1`, `user:2`, `agent:3`. Null for calls without credentials. A guest is known only by a
 * session's id, which is a secret.
 */
export function principalName(principal: Principal | undefined): string | null {
  switch (principal?.kind) {
    case undefined:
    case 'none':
    case 'refresh':
      return null
    case 'account':
    case 'user':
      return `${principal.kind}:${principal.id}`
    case 'agent':
      return `agent:${principal.connection_id}`
    case 'page':
      return `user:${principal.user_id}`
    case 'embed':
      return `account:${principal.account_id}`
    case 'guest':
      return principal.user_id === null ? 'guest' : `user:${principal.user_id}`
    case 'client':
      return `client:${principal.client_id.slice(0, LONGEST_ID)}`
  }
}
