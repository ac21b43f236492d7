import { isObject } from '../../storage/unknown.js'
import type { Call, Principal, Route } from '../route.js'

/**
 * To whom an Idempotency-Key belongs: nobody reads what was answered to another. Sessions and tokens of one user share their keys.
 * Undefined where the key is ignored: without credentials the key alone says whose answer it is, so one that can be guessed is none.
 */
export function callerKey(call: Call, route: Route, key: string): string | undefined {
  const presented = route.presented?.(call)
  if (presented !== undefined) return JSON.stringify(['presented', ...presented])
  const { principal, session } = call
  return ownerOf(principal, call) ?? session?.id ?? (key.length < HARD_TO_GUESS ? undefined : 'nobody')
}

/** An app, a page and an embed act for a user or account, and none of them is told what the others were answered. */
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
      // Everyone knows the public secret. What somebody may spend by it is in the delegate.
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

/** As many printable characters as hold 128 bits. */
export const HARD_TO_GUESS = 20
