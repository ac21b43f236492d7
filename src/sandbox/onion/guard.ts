import { forwardedHeaders } from '../../base/forwarded-headers.js'
import { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from '../../base/loopback.js'
import { type Problem, problem } from '../../base/problem.js'
import { sameSecret } from '../../base/secrets.js'
import { isForeign } from '../../http/caller.js'
import type { FetchSource, RequestHeaders } from '../../http/incoming.js'
import type { SandboxAccess } from './context.js'

/** The parts of a request that a sandbox's guards check. */
export interface GuardedRequest {
  readonly method: string
  readonly url: string
  readonly headers: RequestHeaders
  readonly source: Pick<FetchSource, 'peerAddress'>
}

/** The service that the guards protect. */
export interface GuardedService {
  readonly baseUrl: string
  readonly sandbox: SandboxAccess | undefined
}

/** The control that answers every host. */
const HEALTH = '/_sandbox/health'

/**
 * Refuses network requests for unknown hosts, which DNS rebinding causes, and preflights of pages of untrusted origins.
 * Throws `host_refused`, `origin_refused`.
 */
export function guardCaller(request: GuardedRequest & { readonly path: string }, guarded: GuardedService): void {
  if (!isGuarded(request, guarded)) return
  if (request.path.replace(/\/$/, '') !== HEALTH && !isKnownHost(request.url, guarded)) throw hostRefused(request.url)
  const origin = request.headers.get('origin')
  if (request.method === 'OPTIONS' && origin !== null && !isTrusted(origin, request, guarded))
    throw originRefused(origin)
}

/**
 * Refuses a network request that changes something, comes from an untrusted page, and has no credentials of its own.
 * Credentials are headers that need a preflight. Cookies and Basic are not, because browsers add them automatically.
 * Throws `origin_refused`, or `cross_site` if a route that `takesSession` gets a session's cookie.
 */
export function guardChange(request: GuardedRequest, guarded: GuardedService, { takesSession = false } = {}): void {
  if (!isGuarded(request, guarded) || isSafe(request.method)) return
  if (isOfTrustedPage(request, guarded) || hasCredentials(request.headers)) return
  if (takesSession && cookieOf(request.headers, 'session_id') !== undefined) throw problem('cross_site')
  throw originRefused(request.headers.get('origin'))
}

/** Checks that the caller of a control is local or has the control token. Throws `sandbox_refused`. */
export function guardControls(request: GuardedRequest, guarded: GuardedService): void {
  if (!isLocal(request, guarded) && !holdsControlToken(request, guarded)) throw problem('sandbox_refused')
}

/** Whether pages of this origin may read answers (CORS). */
export function mayRead(origin: string, request: GuardedRequest, guarded: GuardedService): boolean {
  return !isGuarded(request, guarded) || isTrusted(origin, request, guarded)
}

/** Whether this is the sandbox's control token, compared in constant time. */
export const isControlToken = (token: string, { controlToken }: Pick<SandboxAccess, 'controlToken'>): boolean =>
  controlToken !== undefined && sameSecret(token, controlToken)

/** The Set-Cookie header that stores the control token in a browser. */
export function controlCookie(token: string, url: string): string {
  const secure = url.startsWith('https:') ? '; Secure' : ''
  return `control_token=${token}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

/**
 * Only sandboxes are guarded, and only against network requests. Calls in process, under MSW or in a worker are not.
 */
const isGuarded = ({ source }: GuardedRequest, { sandbox }: GuardedService): boolean =>
  sandbox !== undefined && source.peerAddress !== undefined

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
const AUTHORITY = /^https?:\/\/(\[[^\]/?#\\@]*\]|[^/?#\\@:]*)(:\d+)?(?=[/?#]|$)/i

function isKnownHost(url: string, { baseUrl, sandbox }: GuardedService): boolean {
  const [, host = '', port = ''] = AUTHORITY.exec(url) ?? []
  if (isLoopbackHost(host)) return true
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === '') return false
  const allowed = sandbox?.allowHosts ?? []
  return name === new URL(baseUrl).hostname || allowed.includes(name) || allowed.includes(name + port)
}

function hostRefused(url: string): Problem {
  const [, host = ''] = AUTHORITY.exec(url) ?? []
  const shown = /^[\w.:[\]-]{1,255}$/.test(host) ? host : 'HOST'
  const detail = `To allow it, start the sandbox with --allow-host ${shown}.`
  return problem('host_refused', { detail, facts: { host: shown } })
}

/** Trusts the service's own pages, pages on this machine at any port, and origins in `allowOrigins`. */
function isTrusted(origin: string, { url, headers }: GuardedRequest, guarded: GuardedService): boolean {
  const { baseUrl, sandbox } = guarded
  if (isLoopbackOrigin(origin) || sandbox?.allowOrigins.includes(origin)) return true
  // With DNS rebinding, a foreign page has the same origin as the request, so the host must be known too.
  return isKnownHost(url, guarded) && !isForeign({ url, headers }, baseUrl)
}

function originRefused(origin: string | null): Problem {
  const isShown = origin !== null && origin !== 'null' && origin.length < 256 && !/[\s"'`]/.test(origin)
  const shown = isShown ? origin : 'ORIGIN'
  const detail = `To allow them, start the sandbox with --allow-origin ${shown}. Pages at localhost are always allowed.`
  return problem('origin_refused', { detail })
}

/** Browsers omit `Origin` on same-origin reads. For these, `Sec-Fetch-Site` tells where the page is from. */
function isOfTrustedPage(request: GuardedRequest, guarded: GuardedService): boolean {
  const { headers, method } = request
  const origin = headers.get('origin')
  if (origin !== null) return isTrusted(origin, request, guarded)
  return isSameOrigin(headers) || (isSafe(method) && headers.get('sec-fetch-dest') === 'document')
}

const isSameOrigin = (headers: RequestHeaders): boolean => {
  const site = headers.get('sec-fetch-site')
  return site === null || site === 'same-origin' || site === 'none'
}

const hasCredentials = (headers: RequestHeaders): boolean =>
  bearerOf(headers) !== undefined || headers.has('x-session-id') || headers.has('x-control-token')

function isLocal(request: GuardedRequest, guarded: GuardedService): boolean {
  const { peerAddress } = request.source
  const isPeerLocal = peerAddress === undefined || (isLoopbackAddress(peerAddress) && isOnlyLocal(guarded))
  return (
    isPeerLocal &&
    isKnownHost(request.url, guarded) &&
    forwardedHeaders(request.headers.keys()).length === 0 &&
    isOfTrustedPage(request, guarded)
  )
}

/**
 * Whether a sandbox has no name but those of this machine. If it has another, a tunnel or proxy may lead to it that adds no
 * header, and everybody who comes through that looks local. Then all need the control token, whatever `Host` they send.
 */
export const isOnlyLocal = ({ baseUrl, sandbox }: GuardedService): boolean =>
  isLoopbackHost(new URL(baseUrl).hostname) &&
  (sandbox?.allowHosts ?? []).every((host) => isLoopbackHost(host.replace(/:\d+$/, '')))

function holdsControlToken(request: GuardedRequest, guarded: GuardedService): boolean {
  const { headers, method, url } = request
  const { baseUrl, sandbox } = guarded
  if (!sandbox) return false
  const sent = headers.get('x-control-token') ?? bearerOf(headers)
  if (sent !== undefined) return isControlToken(sent, sandbox)
  const cookie = cookieOf(headers, 'control_token')
  if (cookie === undefined || !isControlToken(cookie, sandbox)) return false
  // Browsers add the cookie automatically, so it counts only for the sandbox's own pages.
  if (headers.get('origin') === null) return isSafe(method) && isSameOrigin(headers)
  return !isForeign({ url, headers }, baseUrl)
}

const bearerOf = (headers: RequestHeaders): string | undefined =>
  /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]

const cookieOf = (headers: RequestHeaders, name: string): string | undefined =>
  headers.get('cookie')?.match(new RegExp(`(?:^|;\\s*)${name}=([^;\\s]*)`))?.[1] || undefined
