import type { FetchSource } from '../src/core.js'
import { CLAIM } from './service-worker/register.js'
import { headersOf } from './service-worker/request-headers.js'
import { CookieResponse, SessionJar } from './service-worker/session-jar.js'

export { type RegisterOptions, register } from './service-worker/register.js'

/** What a worker answers with: a service, or pages in front of one. */
export interface Handler {
  /** Where it is reached: at the worker's own origin, within the worker's scope. */
  readonly baseUrl: string
  fetch(request: Request, source?: FetchSource): Promise<Response>
}

export interface HandleOptions {
  /** Addresses that stand for the service's, such as `https://pay.example.test`: what pages fetch from there is answered here. */
  readonly standsFor?: string | readonly string[]
}

/** What of a service worker's fetch event is used. */
export interface FetchEvent {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

/**
 * A listener for the `fetch` events of a service worker. It answers what is at or below the service's base URL and leaves
 * all else to the network, so give the service a path of its own: `new URL('pay/', registration.scope).href`.
 * A worker is shown no cookies and cannot set any: it keeps the session's in a jar, for all of its pages alike.
 */
export function handle(service: Handler, { standsFor = [] }: HandleOptions = {}): (event: FetchEvent) => void {
  const own = withoutSlash(service.baseUrl)
  const bases = [own, ...[standsFor].flat().map(withoutSlash)]
  const jar = new SessionJar(own)
  return (event) => {
    const { request } = event
    const base = bases.find((each) => isBelow(request.url, each))
    if (base === undefined) return
    event.respondWith(answer(service, request, { url: own + request.url.slice(base.length), jar }))
  }
}

const withoutSlash = (url: string): string => new URL(url).href.replace(/\/+$/, '')

const isBelow = (url: string, base: string): boolean =>
  url.startsWith(base) && /^([/?#]|$)/.test(url.slice(base.length))

async function answer(service: Handler, request: Request, { url, jar }: { url: string; jar: SessionJar }) {
  try {
    const takesCookies = jar.isFor(request)
    const headers = headersOf(request, takesCookies ? await jar.cookie() : undefined)
    const response = await service.fetch(request, { url, headers, Response: CookieResponse })
    if (takesCookies && response instanceof CookieResponse) await jar.keep(response)
    return response
  } catch (error) {
    console.error('farthing: a request failed', error)
    return Response.json({ error: 'The service failed.', status: 500, code: 'internal_error' }, { status: 500 })
  }
}

/** What of a service worker's global scope is used. */
interface WorkerScope {
  readonly clients: { claim(): Promise<void> }
  skipWaiting(): Promise<void>
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void
  addEventListener(type: string, listener: (event: LastingEvent) => void): void
}

interface LastingEvent {
  readonly data?: unknown
  waitUntil(lasting: Promise<unknown>): void
}

/** Makes the script that calls it a service worker with this service, which takes over at once, also from an older one. */
export function fire(service: Handler, options?: HandleOptions): void {
  const scope = globalThis as WorkerScope & typeof globalThis // The types here are those of a page.
  scope.addEventListener('install', (event) => event.waitUntil(scope.skipWaiting()))
  scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()))
  scope.addEventListener('message', (event) => {
    if (event.data === CLAIM) event.waitUntil(scope.clients.claim())
  })
  scope.addEventListener('fetch', handle(service, options))
}
