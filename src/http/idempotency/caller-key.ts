import { canonicalJson } from '../../base/hash.js'
import { digest } from '../../base/secrets.js'
import { withoutEnd } from '../../base/text/ends.js'
import { isObject } from '../../storage/unknown.js'
import type { Incoming } from '../incoming.js'
import type { Call, Principal, Route } from '../route.js'

/**
 * The owner of an Idempotency-Key. Nobody else gets the stored answer. Sessions and tokens of one user share their
 * keys. Undefined if the key is ignored: without credentials only the key identifies the caller, so it must be hard to
 * guess.
 */
export function callerKey(call: Call, route: Route, key: string): string | undefined {
  const presented = route.presented?.(call)
  if (presented !== undefined) return JSON.stringify(['presented', ...presented])
  const { principal, session } = call
  return ownerOf(principal, call) ?? session?.id ?? (key.length < HARD_TO_GUESS ? undefined : 'nobody')
}

/** Apps, pages and embeds act for a user or account, but have keys of their own, so none sees the answers of others. */
function ownerOf(principal: Principal, { body }: Call): string | undefined {
  switch (principal.kind) {
    case 'account':
    case 'user':
      return principal.owner
    case 'agent':
      return `${principal.owner} by ${principal.client_id}`
    case 'page':
      return JSON.stringify(['page', principal.user_id, principal.account_id, principal.origin])
    case 'embed':
      // The public secret is public, so the delegate identifies the caller.
      return JSON.stringify(['embed', principal.account_id, delegateOf(body)])
    case 'guest':
      return principal.user_id === null ? undefined : `user:${principal.user_id}`
    case 'client':
      return JSON.stringify(['client', principal.client_id, principal.client_secret])
    case 'refresh':
      return JSON.stringify(['refresh', principal.refresh_token])
    case 'none':
      return undefined
  }
}

const delegateOf = (body: unknown): unknown => (isObject(body) ? body.persona_delegate : undefined) ?? null

/** How many printable characters hold 128 bits. */
export const HARD_TO_GUESS = 20

/**
 * What only the caller of a request with an Idempotency-Key knows, if they send no credentials: its path, its body and the
 * key, which must be hard to guess. The secret of a link in the path is none: its maker knows it too. Undefined if the key is
 * short.
 */
export function retrySecretOf(
  { idempotent }: Pick<Route, 'idempotent'>,
  { method, path, headers }: Pick<Incoming, 'method' | 'path' | 'headers'>,
  body: unknown,
): string | undefined {
  const key = idempotent ? headers.get('idempotency-key') : null
  if (key === null || key.length < HARD_TO_GUESS) return undefined
  return canonicalJson([method, withoutEnd(path, '/'), key, digest(canonicalJson(body))])
}
