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
  const place: Place = { base, own: new URL(service.baseUrl), jar: new CookieJar() }
  const start = (base.origin + base.pathname).replace(/\/+$/, '')
  return [
    http.all(new RegExp(`^${escaped(start)}(?:/|$)`), ({ request, cookies }) =>
      service
        .respond(request, {
          origin: 'msw',
          url: service.baseUrl + request.url.slice(start.length),
          headers: headersOf(request, cookies, place),
          ...(lacksBody(request) && { body: refuseBody }),
          Response: answering(request, place),
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

interface Place {
  readonly base: URL
  readonly own: URL
  readonly jar: CookieJar
}

/** Whether a browser would send cookies with a request of this page, and store them. */
const takesCookies = ({ credentials }: Request, { base }: Place): boolean =>
  credentials === 'include' || (credentials === 'same-origin' && base.origin === location.origin)

/** The headers that a server would get. A browser adds Cookie and Origin and hides both from scripts, so this adds them. */
function headersOf(request: Request, cookies: Record<string, string>, place: Place): Headers {
  const { base, own, jar } = place
  // Copied one by one: for a form, MSW's own `Headers` in Node copies only the Content-Type.
  const headers = new Headers([...request.headers])
  if (typeof location !== 'undefined') {
    const takes = takesCookies(request, place)
    if (takes || isMixed(headers.get('cookie') ?? '')) headers.delete('cookie')
    const cookie = takes ? jar.header(cookies) : undefined
    if (cookie) headers.set('cookie', cookie)
    if (!headers.has('origin') && (base.origin !== location.origin || !/^(GET|HEAD)$/.test(request.method)))
      headers.set('origin', location.origin)
  }
  // A page at `baseUrl` is a page of the service itself.
  if (headers.get('origin') === base.origin) headers.set('origin', own.origin)
  return headers
}

function answering(request: Request, place: Place): NonNullable<FetchSource['Response']> {
  // In Node without a page, clients keep their cookies themselves.
  const isPage = typeof location !== 'undefined'
  // MSW's class passes Set-Cookie to its cookie jar; a browser's Response drops it.
  const Base = isPage ? (HttpResponse as typeof Response) : Response // MSW's type knows what its body holds.
  return class extends Base {
    constructor(body?: BodyInit | null, init?: ResponseInit) {
      const headers = cookieFor(place.base, init)
      // Without it, the end of the connection ends the body, so one that fails midway would look whole.
      const isUnmeasured = body instanceof ReadableStream && !headers.has('content-length')
      if (isUnmeasured && isOnTheWay(request)) headers.set('transfer-encoding', 'chunked')
      super(body instanceof ReadableStream ? abortable(body, request) : body, { ...init, headers })
      const cookie = headers.get('set-cookie')
      if (!isPage || cookie === null) return
      if (takesCookies(request, place)) place.jar.keep(cookie)
      // The Response of happy-dom has dropped what its client waits for.
      if (isOnTheWay(request) && !this.headers.has('set-cookie')) this.headers.append('set-cookie', cookie)
    }
  }
}

/** Whether MSW answers on the way to the network, which adds these headers. MSW 3 does so in Node, and MSW 2 for its HTTP client. */
const isOnTheWay = ({ headers }: Request): boolean => headers.has('host') || headers.has('user-agent')

/** Ends the body when the request is aborted. MSW 2 does not do that. */
const abortable = (body: ReadableStream, request: Request): ReadableStream =>
  body.pipeThrough(
    new TransformStream({
      start(controller) {
        const { signal } = request
        signal.addEventListener('abort', () => controller.error(signal.reason), { once: true })
        // MSW 3 sends the headers with the first piece: a stream would open only when something happens.
        if (isOnTheWay(request)) controller.enqueue(new Uint8Array())
      },
    }),
  )

/** The headers of an answer, with its cookie changed to fit `baseUrl`. */
function cookieFor({ pathname, protocol }: URL, init: ResponseInit | undefined): Headers {
  const headers = new Headers(init?.headers)
  const cookie = headers.get('set-cookie')?.replace(/; Path=[^;]*/, `; Path=${pathname.replace(/(?<=.)\/+$/, '')}`)
  if (cookie) headers.set('set-cookie', protocol === 'https:' ? cookie : cookie.replace('; Secure', ''))
  return headers
}

/** Cookies of a page, which a browser hides from its scripts. MSW 2 keeps them, and so does MSW 3 in a browser, but not in Node. */

/** MSW 2 adds the cookies that it keeps to the Cookie header of every request, and names their attributes as cookies. */
const attribute = /^(expires|max-age|domain|path|samesite)$/i
const attributes = /(?:^|[;,])\s*(?:expires|max-age|domain|path|samesite)=/i

/** Whether MSW has added cookies that it keeps to a Cookie header. Otherwise the client itself has sent it. */
const isMixed = (cookie: string): boolean => attributes.test(cookie)

class CookieJar {
  /** By name, as `name=value`. */
  readonly #pairs = new Map<string, string>()

  keep(setCookie: string): void {
    const [pair = '', ...rest] = setCookie.split(/;\s*/)
    const [name = ''] = pair.split('=', 1)
    if (rest.some((each) => each.toLowerCase() === 'max-age=0')) this.#pairs.delete(name)
    else this.#pairs.set(name, pair)
  }

  /** A Cookie header with what MSW found for the request, which includes what its client has sent. Null if there is none. */
  header(found: Readonly<Record<string, string>>): string | null {
    const pairs = new Map(this.#pairs)
    for (const [name, value] of Object.entries(found))
      if (!attribute.test(name)) pairs.set(name, `${name}=${encodeURIComponent(value)}`)
    return pairs.size > 0 ? [...pairs.values()].join('; ') : null
  }
}
