/** The page's own files, relative to it: all that must be there for it to load without a network. */
const files = ['', 'page.js', 'style.css']

/** The files of a page, kept by its worker. */
export class PageFiles {
  readonly #scope: string
  readonly #urls: readonly string[]

  constructor(scope: string) {
    this.#scope = scope
    this.#urls = files.map((file) => scope + file)
  }

  /** Fetches them all; rejects where one of them cannot be had. */
  async keep(): Promise<void> {
    const fetched = await Promise.all(
      this.#urls.map(async (url) => ({ url, response: await fetch(url, { cache: 'no-cache' }) })),
    )
    // Never some of one release and some of another.
    if (!fetched.every(({ response }) => response.ok && !response.redirected))
      throw new Error('not all files of the page are there')
    const cache = await this.#cache()
    await Promise.all(fetched.map(({ url, response }) => cache.put(url, response)))
  }

  has({ url, method }: Request): boolean {
    return method === 'GET' && this.#urls.includes(this.#named(url))
  }

  async answer({ url }: Request): Promise<Response> {
    return (await (await this.#cache()).match(this.#named(url))) ?? fetch(url)
  }

  #named(url: string): string {
    return url.replace(/[?#].*/, '').replace(/index\.html$/, '')
  }

  #cache(): Promise<Cache> {
    return caches.open(`farthing demo ${this.#scope}`)
  }
}
