import { type HttpHandler, HttpResponse, http } from 'msw'
import { AnswerDropped, checkOptions, type FetchSource, Problem, type Service } from '../src/core.js'

export interface HandlersOptions {
  /** The URL that pages and tests send requests to. Default: the service's own base URL. */
  baseUrl?: string
}

/**
 * Returns handlers for MSW's `setupServer` and `setupWorker`. The service answers every request at or below `baseUrl`,
 * with any method. Other requests pass through. Throws a TypeError without a service, and for a wrong option.
 */
export function handlers(service: Pick<Service, 'baseUrl' | 'respond'>, options: HandlersOptions = {}): HttpHandler[] {
  checkOptions('handlers', options)
  if (typeof (service as Partial<typeof service> | undefined)?.respond !== 'function')
    throw new TypeError(
      'handlers needs a service: handlers(createService({ sandbox: true })). If it is a promise, await it.',
    )
  const { baseUrl = service.baseUrl } = options
  const base = new URL(baseUrl)
  const own = new URL(service.baseUrl)
  const start = (base.origin + base.pathname).replace(/\/+$/, '')
  return [
    http.all(new RegExp(`^${escaped(start)}(?:/|$)`), ({ request, cookies }) =>
      service
        .respond(request, {
          origin: 'msw',
          url: service.baseUrl + request.url.slice(start.length),
          headers: headersOf(request, cookies, base, own),
          ...(lacksBody(request) && { body: refuseBody }),
          Response: answering(request, base),
        })
        .catch(failOnNetwork),
    ),
  ]
}

/** The caller of a dropped answer sees an error of the network. */
function failOnNetwork(error: unknown): Response {
  if (error instanceof AnswerDropped) return HttpResponse.error()
  throw error
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Whether a client of Node sent a body with a GET. MSW does not hand it over, because a `Request` cannot have one. */
const lacksBody = ({ method, body, headers }: Request): boolean =>
  method === 'GET' && !body && ((headers.get('content-length') ?? '0') !== '0' || headers.has('transfer-encoding'))

async function refuseBody(): Promise<never> {
  throw new Problem('body_malformed', {
    detail: 'MSW drops the body of a GET. Send its fields as query parameters, such as ?public_secret=mp_….',
  })
}

/** The headers that a server would get. A browser adds Cookie and Origin and hides both from scripts, so this adds them. */
function headersOf(request: Request, cookies: Record<string, string>, base: URL, own: URL): Headers {
  // Copied one by one: for a form, MSW's own `Headers` in Node copies only the Content-Type.
  const headers = new Headers([...request.headers])
  if (typeof location !== 'undefined') {
    const isForeign = base.origin !== location.origin
    const { credentials, method } = request
    headers.delete('cookie')
    if (credentials === 'include' || (credentials === 'same-origin' && !isForeign)) setCookies(headers, cookies)
    if (!headers.has('origin') && (isForeign || (method !== 'GET' && method !== 'HEAD')))
      headers.set('origin', location.origin)
  }
  // A page at `baseUrl` is a page of the service itself.
  if (headers.get('origin') === base.origin) headers.set('origin', own.origin)
  return headers
}

/** MSW returns the attributes of a cookie as cookies when a second handler reads the same request. */
const attribute = /^(expires|max-age|domain|path|samesite)$/i

function setCookies(headers: Headers, cookies: Record<string, string>): void {
  const pairs = Object.entries(cookies).flatMap(([name, value]) =>
    attribute.test(name) ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  if (pairs.length > 0) headers.set('cookie', pairs.join('; '))
}

/** The class that the service creates its answer from. */
function answering(request: Request, base: URL): NonNullable<FetchSource['Response']> {
  // MSW's class passes Set-Cookie to its cookie jar; a browser's Response drops it. Without a page there is no jar.
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

/** Ends the body when the request is aborted. MSW does not do that. */
const abortable = (body: ReadableStream, { signal }: Request): ReadableStream =>
  body.pipeThrough(
    new TransformStream({
      start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason), { once: true }),
    }),
  )

/** The headers of an answer, with its cookie changed to fit `baseUrl`. */
function cookieFor({ pathname, protocol }: URL, init: ResponseInit | undefined): Headers {
  const headers = new Headers(init?.headers)
  const cookie = headers.get('set-cookie')?.replace(/; Path=[^;]*/, `; Path=${pathname.replace(/(?<=.)\/+$/, '')}`)
  if (cookie) headers.set('set-cookie', protocol === 'https:' ? cookie : cookie.replace('; Secure', ''))
  return headers
}
