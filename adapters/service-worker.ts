import type { FetchSource } from '../src/core.js'
import { CLAIM } from './service-worker/register.js'
import { headersOf } from './service-worker/request-headers.js'
import { CookieResponse, SessionJar } from './service-worker/session-jar.js'

export { type RegisterOptions, register } from './service-worker/register.js'

/** Answers the worker's requests: a service, or pages in front of one. */
export interface Handler {
  /** The URL of the service. It must have the worker's origin and be in the worker's scope. */
  readonly baseUrl: string
  fetch(request: Request, source?: FetchSource): Promise<Response>
}

export interface HandleOptions {
  /** Other base URLs that the worker answers for, such as `https://pay.example.test`. */
  readonly standsFor?: string | readonly string[]
}

/** The part of a service worker's fetch event that `handle` uses. */
export interface FetchEvent {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

/**
 * Returns a listener for the `fetch` events of a service worker. The service answers every request at or below its base URL.
 * Other requests go to the network, so give the service its own path: `new URL('pay/', registration.scope).href`.
 * A worker can neither read nor set cookies. It stores the session cookie in a jar that all of its pages share.
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

/** The part of a service worker's global scope that `fire` uses. */
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

/** Turns the calling script into a service worker with this service. It takes over all pages at once, also from an older worker. */
export function fire(service: Handler, options?: HandleOptions): void {
  const scope = globalThis as WorkerScope & typeof globalThis // TypeScript's types here are for pages.
  scope.addEventListener('install', (event) => event.waitUntil(scope.skipWaiting()))
  scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()))
  scope.addEventListener('message', (event) => {
    if (event.data === CLAIM) event.waitUntil(scope.clients.claim())
  })
  scope.addEventListener('fetch', handle(service, options))
}
