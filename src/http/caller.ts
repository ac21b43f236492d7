import { isLoopbackHost, isLoopbackOrigin } from '../base/loopback.js'
import { type Problem, problem } from '../base/problem.js'
import { DEVICE_LIFETIME } from '../base/proven-device.js'
import type { Reader } from '../storage/storage.js'
import type { ServiceContext } from './context.js'
import type { FetchSource, Incoming, RequestHeaders } from './incoming.js'
import type { AgentScope, Auth, CallSession, Principal } from './route.js'

/** The parts of a request that authenticate its caller. */
export interface SentCredentials {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
  /** Whether the cookie also counts without `Origin` and `Sec-Fetch-Site`. Every browser sends one of them. */
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
  /** Whether a caller without credentials may pay in the request itself. */
  readonly mayPay?: boolean
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
export function repeatedSession(sent: Sent, baseUrl: string): string | undefined {
  try {
    const presented = presentedSession(sent, baseUrl)
    return presented !== undefined && isSessionId(presented) ? presented : undefined
  } catch {
    return undefined
  }
}

/** Longer than any id that the service gave. A caller may send any text. */
const LONGEST_ID = 64

/** The name of a caller: `account:1`, `user:2`, `agent:3`. Null without credentials. The id of a guest's session is a secret. */
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

type Sent = Pick<SentCredentials, 'method' | 'url' | 'headers' | 'takesBareCookie'>

/** Whether a page of a different origin sent a request. */
export function isForeign({ url, headers }: Omit<Sent, 'method'>, baseUrl: string): boolean {
  const origin = headers.get('origin')
  return origin !== null && !isOwn(origin, url, baseUrl)
}

const isOwn = (origin: string, url: string, baseUrl: string): boolean =>
  origin === new URL(baseUrl).origin || origin === new URL(url).origin

/** The session that the caller sends. The cookie needs the service's own origin. Throws `cross_site`, `session_conflict`. */
export function presentedSession(sent: Sent, baseUrl: string): string | undefined {
  const header = sent.headers.get('x-session-id') ?? undefined
  const cookie = sessionCookie(sent.headers.get('cookie'))
  const foreign = isForeign(sent, baseUrl)
  if (header !== undefined) {
    // A same-site page of another origin sends the cookie too, so it may differ from the header.
    if (cookie !== undefined && !foreign && cookie !== header) throw problem('session_conflict')
    return header
  }
  if (cookie === undefined) return undefined
  const changes = sent.method !== 'GET' && sent.method !== 'HEAD'
  if (changes && (foreign || (sent.headers.get('origin') === null && !isBare(sent)))) throw crossSite(sent, baseUrl)
  return foreign ? undefined : cookie
}

/** Says it if the page and the service are on this machine, under two of its names. */
function crossSite({ headers }: Sent, baseUrl: string): Problem {
  const page = headers.get('origin')
  const { hostname, origin } = new URL(baseUrl)
  if (page === null || !isLoopbackOrigin(page) || !isLoopbackHost(hostname)) return problem('cross_site')
  const detail = `The page is at ${page}, the service at ${origin}: browsers take \`localhost\` and \`127.0.0.1\`, and two ports, for different origins.`
  return problem('cross_site', { detail })
}

const isBare = ({ takesBareCookie = false, headers }: Sent): boolean =>
  takesBareCookie && headers.get('sec-fetch-site') === null

const sessionCookie = (header: string | null): string | undefined =>
  header?.match(/(?:^|;\s*)session_id=([^;\s]*)/)?.[1] || undefined

/** What the cookie of proven devices holds. Undefined without one, and for pages of other origins. */
export function presentedDevice(sent: Omit<Sent, 'method'>, baseUrl: string): string | undefined {
  const cookie = sent.headers.get('cookie')
  if (cookie === null || isForeign(sent, baseUrl)) return undefined
  return cookie.match(/(?:^|;\s*)proven_device=([^;\s]*)/)?.[1] || undefined
}

/** The Set-Cookie header of proven devices. */
export const deviceCookieHeader = (value: string, baseUrl: string): string =>
  `proven_device=${value}; Max-Age=${DEVICE_LIFETIME / 1000}; ${attributesOf(baseUrl)}`

/** The Set-Cookie header that sets a session, or removes it. */
export function sessionCookieHeader(sessionId: string | null, baseUrl: string): string {
  const value = sessionId === null ? 'session_id=; Max-Age=0' : `session_id=${sessionId}`
  return `${value}; ${attributesOf(baseUrl)}`
}

const attributesOf = (baseUrl: string): string =>
  `Path=${new URL(baseUrl).pathname}; HttpOnly; SameSite=Lax${baseUrl.startsWith('https:') ? '; Secure' : ''}`

const EXPOSED =
  'X-Session-ID, X-Request-ID, X-Evidence, X-Payment-ID, X-Payment-Status, Idempotent-Replayed, Retry-After, Location, WWW-Authenticate, Mcp-Session-Id, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Payment-Receipt'

/** Sets the CORS headers of an answer. Every page may call and read, unless what is around the service refuses it. */
export function setCorsHeaders(
  answer: Record<string, string>,
  incoming: Incoming,
  { sandbox }: Pick<ServiceContext, 'sandbox'>,
): void {
  answer.vary = 'Origin'
  const origin = incoming.headers.get('origin')
  if (origin === null || sandbox?.requests.mayRead(origin, incoming) === false) return
  answer['access-control-allow-origin'] = origin
  answer['access-control-allow-credentials'] = 'true'
  answer['access-control-expose-headers'] = EXPOSED
}

export function preflightHeaders(headers: Pick<Headers, 'get'>, methods: readonly string[]): Record<string, string> {
  return {
    allow: methods.join(', '),
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': headers.get('access-control-request-headers') ?? '*',
    'access-control-max-age': '600',
  }
}

const V4 = String.raw`\d{1,3}(?:\.\d{1,3}){3}`
const ADDRESS = new RegExp(String.raw`^(?:(${V4})(?::\d+)?|\[?([\da-f]*:[\da-f:]*(?:${V4})?)(?:\]:\d+|\])?)$`, 'i')

/**
 * The address that a network request comes from. A trusted proxy adds the address of its own client to the end of
 * `X-Forwarded-For`; what stands before that is what the client says. Undefined: unknown, or not from a network.
 */
export function clientAddress(
  { peerAddress }: FetchSource,
  headers: Pick<RequestHeaders, 'get'>,
  { trustsProxy }: { readonly trustsProxy: boolean },
): string | undefined {
  if (!peerAddress) return undefined
  const added = trustsProxy ? headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined
  const address = added === undefined ? undefined : plainAddress(added)
  if (address !== undefined) return address
  if (peerAddress !== lastPeer.text) lastPeer = { text: peerAddress, address: plainAddress(peerAddress) }
  return lastPeer.address
}

/** Most requests come on a connection that has brought others. */
let lastPeer: { readonly text: string; readonly address: string | undefined } = { text: '', address: undefined }

/** An IPv6 address with an IPv4 part, in brackets, and a port. */
const LONGEST_ADDRESS = 53

/** Without its port, and an IPv4 address as itself. */
function plainAddress(text: string): string | undefined {
  const [, v4, v6] = text.length > LONGEST_ADDRESS ? [] : (ADDRESS.exec(text) ?? [])
  return v4 ?? v6?.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}
