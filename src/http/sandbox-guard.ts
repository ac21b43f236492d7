import { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from '../base/loopback.js'
import { type Problem, problem } from '../base/problem.js'
import { sameSecret } from '../base/secrets.js'
import type { SandboxAccess } from './context.js'
import type { FetchSource, RequestHeaders } from './incoming.js'
import { isForeign } from './origin.js'

/** A request as the guards of a sandbox look at it. */
export interface GuardedRequest {
  readonly method: string
  readonly url: string
  readonly headers: RequestHeaders
  readonly source: Pick<FetchSource, 'peerAddress'>
}

/** Whose guards they are. */
export interface GuardedService {
  readonly baseUrl: string
  readonly sandbox: SandboxAccess | undefined
}

/** The control that answers everyone. */
const HEALTH = '/_sandbox/health'

/**
 * Refuses requests from the network that name an unknown host, as those of a rebound name do, and preflights of foreign pages.
 * Throws `host_refused`, `origin_refused`.
 */
export function guardCaller(asked: GuardedRequest & { readonly path: string }, guarded: GuardedService): void {
  if (!isGuarded(asked, guarded)) return
  if (asked.path.replace(/\/$/, '') !== HEALTH && !isKnownHost(asked.url, guarded)) throw hostRefused(asked.url)
  const origin = asked.headers.get('origin')
  if (asked.method === 'OPTIONS' && origin !== null && !isTrusted(origin, asked, guarded)) throw originRefused(origin)
}

/**
 * Refuses a call from the network by which a foreign page would change something without credentials of its own. A header that
 * browsers send to other origins only after a preflight is one; a cookie is none, nor is Basic, which browsers add by themselves.
 * Throws `origin_refused`, or `cross_site` where a session's cookie came to a route that `takesSession`.
 */
export function guardChange(asked: GuardedRequest, guarded: GuardedService, { takesSession = false } = {}): void {
  if (!isGuarded(asked, guarded) || isSafe(asked.method)) return
  if (isOfTrustedPage(asked, guarded) || hasCredentials(asked.headers)) return
  if (takesSession && cookieOf(asked.headers, 'session_id') !== undefined) throw problem('cross_site')
  throw originRefused(asked.headers.get('origin'))
}

/** Throws `sandbox_refused` unless a local caller asks for a control, or one who holds the control token. */
export function guardControls(asked: GuardedRequest, guarded: GuardedService): void {
  if (!isLocal(asked, guarded) && !holdsControlToken(asked, guarded)) throw problem('sandbox_refused')
}

/** Whether a page of this origin may read answers (CORS). */
export function mayRead(origin: string, asked: GuardedRequest, guarded: GuardedService): boolean {
  return !isGuarded(asked, guarded) || isTrusted(origin, asked, guarded)
}

/** Whether this is the sandbox's control token, compared in constant time. */
export const isControlToken = (token: string, { controlToken }: Pick<SandboxAccess, 'controlToken'>): boolean =>
  controlToken !== undefined && sameSecret(token, controlToken)

/** Keeps the control token in the browser that was given it. */
export function controlCookie(token: string, url: string): string {
  const secure = url.startsWith('https:') ? '; Secure' : ''
  return `control_token=${token}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

/** A service that is no sandbox answers every page; calls in process, under MSW or in a worker come from no network. */
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
  return problem('host_refused', { detail: `To allow it, start the sandbox with --allow-host ${shown}.` })
}

/** The service's own pages, those on this machine at any port, and those that the sandbox was told to allow. */
function isTrusted(origin: string, { url, headers }: GuardedRequest, guarded: GuardedService): boolean {
  const { baseUrl, sandbox } = guarded
  if (isLoopbackOrigin(origin) || sandbox?.allowOrigins.includes(origin)) return true
  // Under a rebound name, the page of that name looks like the service's own.
  return isKnownHost(url, guarded) && !isForeign({ url, headers }, baseUrl)
}

function originRefused(origin: string | null): Problem {
  const isShown = origin !== null && origin !== 'null' && origin.length < 256 && !/[\s"'`]/.test(origin)
  const shown = isShown ? origin : 'ORIGIN'
  const detail = `To allow them, start the sandbox with --allow-origin ${shown}. Pages at localhost are always allowed.`
  return problem('origin_refused', { detail })
}

/** Browsers name the page's origin in all they send but what only looks, where `Sec-Fetch-Site` says whose page it is. */
function isOfTrustedPage(asked: GuardedRequest, guarded: GuardedService): boolean {
  const { headers, method } = asked
  const origin = headers.get('origin')
  if (origin !== null) return isTrusted(origin, asked, guarded)
  return isSameOrigin(headers) || (isSafe(method) && headers.get('sec-fetch-dest') === 'document')
}

const isSameOrigin = (headers: RequestHeaders): boolean => {
  const site = headers.get('sec-fetch-site')
  return site === null || site === 'same-origin' || site === 'none'
}

const hasCredentials = (headers: RequestHeaders): boolean =>
  bearerOf(headers) !== undefined || headers.has('x-session-id') || headers.has('x-control-token')

function isLocal(asked: GuardedRequest, guarded: GuardedService): boolean {
  const { peerAddress } = asked.source
  const isPeerLocal = peerAddress === undefined || isLoopbackAddress(peerAddress)
  return isPeerLocal && isKnownHost(asked.url, guarded) && !isPassedOn(asked.headers) && isOfTrustedPage(asked, guarded)
}

/** A proxy, a tunnel or another service sends this for somebody else, who may be anywhere. */
function isPassedOn(headers: RequestHeaders): boolean {
  for (const name of headers.keys()) if (/^(forwarded|x-forwarded-.*|x-real-ip|via)$/i.test(name)) return true
  return false
}

function holdsControlToken(asked: GuardedRequest, guarded: GuardedService): boolean {
  const { headers, method, url } = asked
  const { baseUrl, sandbox } = guarded
  if (!sandbox) return false
  const sent = headers.get('x-control-token') ?? bearerOf(headers)
  if (sent !== undefined) return isControlToken(sent, sandbox)
  const cookie = cookieOf(headers, 'control_token')
  if (cookie === undefined || !isControlToken(cookie, sandbox)) return false
  // A browser adds the cookie by itself: it counts only for pages of the sandbox.
  if (headers.get('origin') === null) return isSafe(method) && isSameOrigin(headers)
  return !isForeign({ url, headers }, baseUrl)
}

const bearerOf = (headers: RequestHeaders): string | undefined =>
  /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]

const cookieOf = (headers: RequestHeaders, name: string): string | undefined =>
  headers.get('cookie')?.match(new RegExp(`(?:^|;\\s*)${name}=([^;\\s]*)`))?.[1] || undefined
