const CACHE = 'farthing'

/** A worker's answer, which remembers the Set-Cookie that a browser's Response drops. */
export class CookieResponse extends Response {
  readonly setCookie: string | undefined

  constructor(body?: BodyInit | null, init: ResponseInit = {}) {
    super(body, init)
    this.setCookie = setCookieOf(init.headers)
  }
}

/** Of headers in a plain object, as the service gives them: `Headers` drop it too. */
const setCookieOf = (headers: HeadersInit = {}): string | undefined =>
  headers instanceof Headers || Array.isArray(headers) ? undefined : headers['set-cookie']

/** The session cookie of a worker's pages, kept where it outlives the worker. */
export class SessionJar {
  readonly #base: string
  #kept: Promise<string | undefined> | undefined

  constructor(base: string) {
    this.#base = base
  }

  /** Whether a browser would send and take cookies here: with what the page asks of its own origin, or says to include. */
  isFor({ credentials, url }: Request): boolean {
    return credentials === 'include' || (credentials === 'same-origin' && new URL(url).origin === location.origin)
  }

  /** As a Cookie header has it. */
  cookie(): Promise<string | undefined> {
    this.#kept ??= caches
      .open(CACHE)
      .then((cache) => cache.match(this.#key))
      .then((found) => found?.text())
    return this.#kept
  }

  /** Resolves once it is kept. */
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
