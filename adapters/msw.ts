import { type HttpHandler, HttpResponse, http } from 'msw'
import type { FetchSource, Service } from '../src/core.js'

export interface HandlersOptions {
  /** Where the service is to be reached. Default: its own base URL. */
  baseUrl?: string
}

/**
 * Handlers for MSW's `setupServer` and `setupWorker` that answer with a service what is asked at `baseUrl` or below it,
 * whatever the method, and leave all else alone. Throws a TypeError where `baseUrl` is no URL.
 */
export function handlers(
  service: Pick<Service, 'baseUrl' | 'fetch'>,
  { baseUrl = service.baseUrl }: HandlersOptions = {},
): HttpHandler[] {
  const base = new URL(baseUrl)
  const own = new URL(service.baseUrl)
  const start = (base.origin + base.pathname).replace(/\/+$/, '')
  return [
    http.all(new RegExp(`^${escaped(start)}(?:/|$)`), ({ request, cookies }) =>
      service.fetch(request, {
        url: service.baseUrl + request.url.slice(start.length),
        headers: headersOf(request, cookies, base, own),
        Response: answering(request, base),
      }),
    ),
  ]
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** What a server would be sent: a browser adds Cookie and Origin, and shows neither to a script; a page in Node stands for one. */
function headersOf(request: Request, cookies: Record<string, string>, base: URL, own: URL): Headers {
  // One by one: of a form's, MSW's own `Headers` in Node copies the Content-Type alone.
  const headers = new Headers([...request.headers])
  if (typeof location !== 'undefined') {
    const isForeign = base.origin !== location.origin
    const { credentials, method } = request
    headers.delete('cookie')
    if (credentials === 'include' || (credentials === 'same-origin' && !isForeign)) setCookies(headers, cookies)
    if (!headers.has('origin') && (isForeign || (method !== 'GET' && method !== 'HEAD')))
      headers.set('origin', location.origin)
  }
  // The page at an address that stands for the service's is the service's own.
  if (headers.get('origin') === base.origin) headers.set('origin', own.origin)
  return headers
}

/** MSW reads back the attributes of a cookie as cookies, once a second handler looks at the same request. */
const attribute = /^(expires|max-age|domain|path|samesite)$/i

function setCookies(headers: Headers, cookies: Record<string, string>): void {
  const pairs = Object.entries(cookies).flatMap(([name, value]) =>
    attribute.test(name) ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  if (pairs.length > 0) headers.set('cookie', pairs.join('; '))
}

/** The class that the answer to a request is made of. */
function answering(request: Request, base: URL): NonNullable<FetchSource['Response']> {
  // MSW's own keeps for its cookie jar what a browser's Response drops. Without a page there is no jar, as with Node's fetch.
  const Base = typeof location === 'undefined' ? Response : (HttpResponse as typeof Response) // MSW's type knows what its body holds.
  return class extends Base {
    constructor(body?: BodyInit | null, init?: ResponseInit) {
      super(body instanceof ReadableStream ? abortable(body, request) : body, {
        ...init,
        headers: cookieFor(base, init),
      })
    }
  }
}

/** MSW does not carry an abort over to the body of an answer. */
const abortable = (body: ReadableStream, { signal }: Request): ReadableStream =>
  body.pipeThrough(
    new TransformStream({
      start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason), { once: true }),
    }),
  )

/** The headers of an answer, with the cookie for the address that stands for the service's. */
function cookieFor({ pathname, protocol }: URL, init: ResponseInit | undefined): Headers {
  const headers = new Headers(init?.headers)
  const cookie = headers.get('set-cookie')?.replace(/; Path=[^;]*/, `; Path=${pathname.replace(/(?<=.)\/+$/, '')}`)
  if (cookie) headers.set('set-cookie', protocol === 'https:' ? cookie : cookie.replace('; Secure', ''))
  return headers
}
