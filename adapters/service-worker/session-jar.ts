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

/** Stores the session cookie of a worker's pages in the browser's cache, where it outlives the worker. */
export class SessionJar {
  readonly #base: string
  #kept: Promise<string | undefined> | undefined

  constructor(base: string) {
    this.#base = base
  }

  /** Whether a browser would send and accept cookies for this request. */
  isFor({ credentials, url }: Request): boolean {
    return credentials === 'include' || (credentials === 'same-origin' && new URL(url).origin === location.origin)
  }

  /** Reads the value for the Cookie header. Undefined if there is no session cookie. */
  cookie(): Promise<string | undefined> {
    this.#kept ??= caches
      .open(CACHE)
      .then((cache) => cache.match(this.#key))
      .then((found) => found?.text())
    return this.#kept
  }

  /** Stores or deletes the cookie that an answer sets. */
  async keep({ setCookie }: CookieResponse): Promise<void> {
    if (setCookie === undefined) return
    const [pair = '', ...attributes] = setCookie.split(/;\s*/)
    const ends = attributes.some((each) => each.toLowerCase() === 'max-age=0')
    const cache = await caches.open(CACHE)
    if (ends) await cache.delete(this.#key)
    else await cache.put(this.#key, new Response(pair))
    this.#kept = Promise.resolve(ends ? undefined : pair)
  }

  get #key(): string {
    return `${this.#base}/session-cookie`
  }
}
