import { AnswerDropped, checkOptions, consoleLog, type FetchSource } from '../src/core.js'
import { isBelow, Precache } from './service-worker/precache.js'
import { CLAIM } from './service-worker/register.js'
import { CookieResponse, headersOf, SessionJar } from './service-worker/session-jar.js'

export { type RegisterOptions, register } from './service-worker/register.js'

/** Answers the worker's requests: a service, or pages in front of one. */
export interface Handler {
  /** The URL of the service. It must have the worker's origin and be in the worker's scope. */
  readonly baseUrl: string
  respond(request: Request, source: FetchSource): Promise<Response>
}

export interface HandleOptions {
  /** Other base URLs that the worker answers for, such as `https://pay.example.test`. */
  readonly standsFor?: string | readonly string[]
}

export interface FireOptions extends HandleOptions {
  /**
   * Files to store for use without a network, relative to the worker's scope: pages such as `./`, and files that these load
   * later. The scripts, styles and images that the HTML of a page names are stored with it. Default: none.
   */
  readonly precache?: readonly string[]
}

/** The part of a service worker's fetch event that `handle` uses. */
export interface FetchEvent {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

/**
 * Returns a listener for the `fetch` events of a service worker. The service answers every request at or below its base URL.
 * Other requests go to the network, so give the service its own path: `new URL('pay/', registration.scope).href`.
 * Throws an Error if the base URL is outside the worker's scope, and a TypeError for a wrong option.
 * A worker can neither read nor set cookies. It stores the session cookie in a jar that all of its pages share.
 */
export function handle(service: Handler, options: HandleOptions = {}): (event: FetchEvent) => void {
  checkOptions('handle', options)
  checkScope(service)
  const bases = basesOf(service, options)
  const [own] = bases
  const jar = new SessionJar(own)
  return (event) => {
    const { request } = event
    const base = bases.find((each) => isBelow(request.url, each))
    if (base === undefined) return
    event.respondWith(answer(service, request, { url: own + request.url.slice(base.length), jar }))
  }
}

/** Throws a TypeError without a service, and an Error if the worker would never see its requests. */
function checkScope(service: Partial<Handler> | undefined): void {
  if (typeof service?.respond !== 'function')
    throw new TypeError(
      'handle and fire need a service: fire(createService({ storage: indexedDbStorage(), baseUrl })).',
    )
  const { registration } = globalThis as { readonly registration?: { readonly scope: string } }
  const { baseUrl = '' } = service
  if (registration === undefined || `${withoutSlash(baseUrl)}/`.startsWith(registration.scope)) return
  const example = new URL('pay/', registration.scope).href
  throw new Error(
    `The base URL ${baseUrl} is outside the scope of this worker, ${registration.scope}. Create the service with a base URL in the scope, such as ${example}.`,
  )
}

const withoutSlash = (url: string): string => new URL(url).href.replace(/\/+$/, '')

const basesOf = ({ baseUrl }: Handler, { standsFor = [] }: HandleOptions): [string, ...string[]] => [
  withoutSlash(baseUrl),
  ...[standsFor].flat().map(withoutSlash),
]

async function answer(service: Handler, request: Request, { url, jar }: { url: string; jar: SessionJar }) {
  try {
    const takesCookies = jar.isFor(request)
    const headers = headersOf(request, takesCookies ? await jar.cookie() : undefined)
    const response = await service.respond(request, { origin: 'worker', url, headers, Response: CookieResponse })
    if (takesCookies && response instanceof CookieResponse) await jar.keep(response)
    return response
  } catch (error) {
    if (error instanceof AnswerDropped) return Response.error()
    consoleLog.error('a request failed', error)
    return Response.json({ error: 'The service failed.', status: 500, code: 'internal_error' }, { status: 500 })
  }
}

/** The part of a service worker's global scope that `fire` uses. */
interface WorkerScope {
  readonly clients: { claim(): Promise<void> }
  readonly registration: { readonly scope: string }
  skipWaiting(): Promise<void>
  addEventListener(type: 'fetch', listener: (event: FetchEvent & LastingEvent) => void): void
  addEventListener(type: string, listener: (event: LastingEvent) => void): void
}

interface LastingEvent {
  readonly data?: unknown
  waitUntil(lasting: Promise<unknown>): void
}

/**
 * Turns the calling script into a service worker with this service. It takes over all pages at once, also from an older worker.
 * With `precache`, its pages load without a network. They are installed whole or not at all, and each visit looks for newer
 * files, which the next visit shows. Throws a TypeError for a file of a different origin.
 */
export function fire(service: Handler, options: FireOptions = {}): void {
  checkOptions('fire', options)
  const scope = globalThis as WorkerScope & typeof globalThis // TypeScript's types here are for pages.
  const { precache = [], ...handled } = options
  const answerRequest = handle(service, handled)
  const bases = basesOf(service, handled)
  const files = precache.length > 0 ? new Precache(precache, scope.registration.scope, bases) : undefined
  scope.addEventListener('install', (event) => event.waitUntil(install(scope, files)))
  scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()))
  scope.addEventListener('message', (event) => {
    if (event.data === CLAIM) event.waitUntil(scope.clients.claim())
  })
  scope.addEventListener('fetch', answerRequest)
  // A listener that answers keeps later ones from being called.
  if (files) scope.addEventListener('fetch', (event) => answerFile(files, event))
}

async function install(scope: WorkerScope, files: Precache | undefined): Promise<void> {
  try {
    await files?.store()
  } catch (error) {
    consoleLog.error('the worker is not installed', error)
    throw error
  }
  await scope.skipWaiting()
}

function answerFile(files: Precache, event: FetchEvent & LastingEvent): void {
  const { request } = event
  if (!files.mayAnswer(request)) return
  event.respondWith(files.answer(request))
  // Without a network, the stored files stay.
  if (request.destination === 'document') event.waitUntil(files.store().catch(() => {}))
}
