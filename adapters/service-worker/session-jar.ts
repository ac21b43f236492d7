import type { FetchSource } from '../../src/core.js'

const CACHE = 'farthing'

/** An answer that remembers its Set-Cookie header. A browser's Response drops it. */
export class CookieResponse extends Response {
  readonly setCookie: string | undefined

  constructor(body?: BodyInit | null, init: ResponseInit = {}) {
    super(body, init)
    this.setCookie = setCookieOf(init.headers)
  }
}

/** Reads Set-Cookie from a plain object, as the service passes it. `Headers` drops it. */
const setCookieOf = (headers: HeadersInit = {}): string | undefined =>
  headers instanceof Headers || Array.isArray(headers) ? undefined : headers['set-cookie']

/** Stores the cookies of a worker's pages in the browser's cache, where they outlive the worker. */
export class SessionJar {
  #kept: Promise<string | undefined> | undefined

  constructor(readonly base: string) {}

  isFor({ credentials, url }: Request): boolean {
    return credentials === 'include' || (credentials === 'same-origin' && new URL(url).origin === location.origin)
  }

  cookie(): Promise<string | undefined> {
    this.#kept ??= caches
      .open(CACHE)
      .then((cache) => cache.match(this.#key))
      .then((found) => found?.text())
    return this.#kept
  }

  async keep({ setCookie }: CookieResponse): Promise<void> {
    if (setCookie === undefined) return
    const [pair = '', ...attributes] = setCookie.split(/;\s*/)
    const ends = attributes.some((each) => each.toLowerCase() === 'max-age=0')
    const others = ((await this.cookie()) ?? '').split('; ').filter((each) => each && nameIn(each) !== nameIn(pair))
    const kept = [...others, ...(ends ? [] : [pair])].join('; ')
    const cache = await caches.open(CACHE)
    if (kept === '') await cache.delete(this.#key)
    else await cache.put(this.#key, new Response(kept))
    this.#kept = Promise.resolve(kept || undefined)
  }

  get #key(): string {
    return `${this.base}/session-cookie`
  }
}

const nameIn = (pair: string): string => pair.split('=', 1)[0] ?? ''

/** The headers of a request, with the Cookie and Origin that the browser hides from a worker. */
export function headersOf(request: Request, cookie: string | undefined): NonNullable<FetchSource['headers']> {
  const hidden: Partial<Record<string, string>> = { cookie, origin: originOf(request) }
  const get = (name: string) => hidden[name.toLowerCase()] ?? request.headers.get(name)
  return { get, has: (name) => get(name) !== null, keys: () => request.headers.keys() }
}

/** The Origin that the browser would send (Fetch, section 3.2). */
function originOf({ method, mode, referrer, url }: Request): string | undefined {
  const isForeign = new URL(url).origin !== location.origin
  if (!isForeign && (method === 'GET' || method === 'HEAD')) return undefined
  // Calls come only from pages of the worker's own origin, but a page of any origin can submit a form to the service.
  if (mode !== 'navigate') return location.origin
  return URL.canParse(referrer) && /^https?:/.test(referrer) ? new URL(referrer).origin : 'null'
}
