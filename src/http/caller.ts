import type { Reader } from '../storage/storage.js'
import type { ServiceContext } from './context.js'
import { presentedSession } from './origin.js'
import type { AgentScope, Auth, CallSession, Principal } from './route.js'

/** The parts of a request that authenticate its caller. */
export interface SentCredentials {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
  /** Whether the route accepts the session cookie of a caller that is no browser. */
  readonly takesBareCookie?: boolean | undefined
  /** `public_secret` from the body or the query. */
  readonly publicSecret: unknown
  /** What a retry of a caller without a session sends again, and nobody else can guess. Undefined if there is nothing. */
  readonly retrySecret: () => string | undefined
  /** `access_token` from the body, for routes that accept it there (RFC 6750 section 2.2). */
  readonly formToken: unknown
  /** The URL of the call, if its route is a resource (RFC 8707). */
  readonly resource: string | undefined
  /** The scope that an agent's token needs. */
  readonly agentScope: AgentScope
  /** Called with whoever a valid token belongs to, also if the route does not accept them. */
  recognized?(principal: Principal): void
}

export interface Caller {
  readonly principal: Principal
  readonly session: CallSession | undefined
  /** The user who signed in by a code in the session that the browser's cookie names. */
  readonly provenUser?: number | undefined
}

/** Authenticates a caller that the route accepts. Throws a problem if there is none. */
export type FindCaller = (
  tx: Reader,
  auth: readonly Auth[],
  sent: SentCredentials,
  context: Pick<ServiceContext, 'clock' | 'random' | 'keys' | 'baseUrl'>,
) => Promise<Caller>

export const isSessionId = (text: string): boolean => /^ms_[0-9a-f]{32}$/.test(text)

/** The error for a valid credential of the wrong kind. */
export const wrongCaller = (auth: readonly Auth[]) =>
  auth.every((kind) => kind === 'account') ? 'not_an_account' : 'wrong_principal'

/** The session id that an answer repeats to a caller who was refused before authentication, and sent no `Authorization`. */
export function repeatedSession(
  sent: Pick<SentCredentials, 'method' | 'url' | 'headers' | 'takesBareCookie'>,
  baseUrl: string,
): string | undefined {
  try {
    const presented = presentedSession(sent, baseUrl)
    return presented !== undefined && isSessionId(presented) ? presented : undefined
  } catch {
    return undefined
  }
}

/** Longer than any id that the service gave. A caller may send any text. */
const LONGEST_ID = 64

/**
 * The name of a caller: `account:1`, `user:2`, `agent:3`. Null for calls without credentials. A guest is known only by a
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
      return principal.owner
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
