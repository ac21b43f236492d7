/** The files that the page needs to load without a network, relative to the page. */
const files = ['', 'page.js', 'style.css']

/** Stores the files of a page for its worker. */
export class PageFiles {
  readonly #scope: string
  readonly #urls: readonly string[]

  constructor(scope: string) {
    this.#scope = scope
    this.#urls = files.map((file) => scope + file)
  }

  /** Fetches and stores all files. Rejects if one of them is missing. */
  async store(): Promise<void> {
    const fetched = await Promise.all(
      this.#urls.map(async (url) => ({ url, response: await fetch(url, { cache: 'no-cache' }) })),
    )
    // Never mixes the files of two releases.
    if (!fetched.every(({ response }) => response.ok && !response.redirected))
      throw new Error('Some files of the page are missing.')
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
