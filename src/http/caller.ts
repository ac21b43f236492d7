import type { Reader } from '../storage/storage.js'
import type { ServiceContext } from './context.js'
import { presentedSession } from './origin.js'
import type { AgentScope, Auth, CallSession, Principal, Route } from './route.js'

/** What of a request says who is calling. */
export interface SentCredentials {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
  /** From the body or the query. */
  readonly publicSecret: unknown
  /** An access token in the form of a route that takes one there (RFC 6750 section 2.2). */
  readonly formToken: unknown
  /** The address that is called, where it is a resource of its own. */
  readonly resource: string | undefined
  /** The scope without which an agent's token is good for nothing there. */
  readonly agentScope: AgentScope
}

export interface Caller {
  readonly principal: Principal
  readonly session: CallSession | undefined
}

/** Finds the principal that a route accepts. Throws the refusal where there is none. */
export type FindCaller = (
  tx: Reader,
  auth: readonly Auth[],
  sent: SentCredentials,
  context: Pick<ServiceContext, 'clock' | 'random' | 'baseUrl'>,
) => Promise<Caller>

export const isSessionId = (text: string): boolean => /^ms_[0-9a-f]{32}$/.test(text)

/** What a valid token of another kind is told. */
export const wrongCaller = (auth: readonly Auth[]) =>
  auth.every((kind) => kind === 'account') ? 'not_an_account' : 'wrong_principal'

/** The session that an answer repeats to a caller who was refused before it was looked at. */
export function repeatedSession(
  sent: Pick<SentCredentials, 'method' | 'url' | 'headers'> & {
    readonly endpoint: { readonly route: Route } | undefined
  },
  baseUrl: string,
): string | undefined {
  const takesSession = sent.endpoint?.route.auth.some((kind) => kind === 'session' || kind === 'guest')
  if (!takesSession || sent.headers.get('authorization') !== null) return undefined
  try {
    const presented = presentedSession(sent, baseUrl)
    return presented !== undefined && isSessionId(presented) ? presented : undefined
  } catch {
    return undefined
  }
}
