/** Which stored version is in use, which was before it, and which comes next: `scope?is=current` and so on. */
const VERSIONS = 'farthing versions'
type Which = 'previous' | 'current' | 'next'

interface Fetched {
  readonly url: string
  readonly response: Response
  readonly bytes: ArrayBuffer
}

/**
 * Stores the files of a site for its worker, so that its pages load without a network. Each version of the files has a
 * cache of its own, whose name is a digest of them. A version is stored whole or not at all. Opening a page changes to the
 * next version, so a page never loads the files of two.
 */
export class Precache {
  readonly #urls: readonly string[]
  #stored = Promise.resolve()

  /** `files` are relative to the scope. Throws a TypeError for one of a different origin, and for one below a service. */
  constructor(
    files: readonly string[],
    readonly scope: string,
    readonly services: readonly string[],
  ) {
    this.#urls = files.map((file) => this.#checked(file))
  }

  #checked(file: string): string {
    if (!URL.canParse(file, this.scope) || !this.#isOfOrigin(new URL(file, this.scope).href))
      throw new TypeError(
        `precache names "${file}", which is not a file of ${new URL(this.scope).origin}. Name files of the worker's own origin, such as "./" or "app.js".`,
      )
    const url = new URL(file, this.scope).href.replace(/#.*/, '')
    if (this.#isOfService(url))
      throw new TypeError(`precache names "${file}", which the service answers without a network. Remove it.`)
    return url
  }

  #isOfOrigin = (url: string): boolean => new URL(url).origin === new URL(this.scope).origin
  #isOfService = (url: string): boolean => this.services.some((base) => isBelow(url, base))

  /** Whether `answer` should answer a request that the service does not answer. */
  mayAnswer({ url, method }: Request): boolean {
    return method === 'GET' && this.#isOfOrigin(url)
  }

  /** Answers a file from the version in use, else from the network. Without a network, every page is the first stored one. */
  async answer(request: Request): Promise<Response> {
    const isPage = request.destination === 'document'
    if (isPage) await this.#locked(() => this.#advance())
    const stored = await this.#find(request.mode === 'navigate' ? pageUrls(request.url) : [request.url])
    if (stored) return stored
    try {
      return await fetch(request)
    } catch (error) {
      const first = isPage && (await this.#firstPage())
      if (first) return first
      throw error
    }
  }

  /** A page that is open may still load files of the previous version. */
  async #find(urls: readonly string[]): Promise<Response | undefined> {
    for (const which of ['current', 'previous'] as const) {
      const cache = await this.#open(which)
      for (const url of cache ? urls : []) {
        const found = await cache?.match(url, { ignoreVary: true })
        if (found) return found
      }
    }
    return undefined
  }

  async #firstPage(): Promise<Response | undefined> {
    const cache = await this.#open('current')
    const stored = await Promise.all(this.#urls.map((url) => cache?.match(url, { ignoreVary: true })))
    return stored.find((response) => response && isHtml(response))
  }

  /** Fetches all files, and stores them as the next version. Rejects with the first file that is missing, and stores nothing. */
  store(): Promise<void> {
    // One after the other, so that the newest files are the next version.
    this.#stored = this.#stored.catch(() => {}).then(() => this.#storeNext())
    return this.#stored
  }

  async #storeNext(): Promise<void> {
    const files = await this.#fetchAll()
    const name = this.#prefix + (await digestOf(files))
    await this.#locked(async () => {
      const cache = await caches.open(name)
      await Promise.all(files.map(({ url, response }) => cache.put(url, response)))
      await this.#write('next', name)
      if ((await this.#read('current')) === undefined) await this.#advance()
      await this.#removeUnused()
    })
  }

  async #fetchAll(): Promise<Fetched[]> {
    const files = await Promise.all([...new Set(this.#urls)].map((url) => fetchFile(url, `precache names ${url}`)))
    const known = new Set<string>(this.#urls)
    const loaded = files.flatMap(({ url, response, bytes }) => {
      const names = isHtml(response) ? namedFiles(new TextDecoder().decode(bytes), url) : []
      return names.flatMap((each) => {
        if (known.has(each) || !this.#isOfOrigin(each) || this.#isOfService(each)) return []
        known.add(each)
        return [fetchFile(each, `The page ${url} loads ${each}`)]
      })
    })
    return [...files, ...(await Promise.all(loaded))]
  }

  async #advance(): Promise<void> {
    const [current, next] = await Promise.all([this.#read('current'), this.#read('next')])
    if (next === undefined || next === current) return
    if (current !== undefined) await this.#write('previous', current)
    await this.#write('current', next)
  }

  async #removeUnused(): Promise<void> {
    const used = await Promise.all((['previous', 'current', 'next'] as const).map((which) => this.#read(which)))
    const unused = (await caches.keys()).filter((name) => name.startsWith(this.#prefix) && !used.includes(name))
    await Promise.all(unused.map((name) => caches.delete(name)))
  }

  async #open(which: Which): Promise<Cache | undefined> {
    const name = await this.#read(which)
    return name === undefined ? undefined : caches.open(name)
  }

  async #read(which: Which): Promise<string | undefined> {
    return (await (await caches.open(VERSIONS)).match(`${this.scope}?is=${which}`))?.text()
  }

  async #write(which: Which, name: string): Promise<void> {
    await (await caches.open(VERSIONS)).put(`${this.scope}?is=${which}`, new Response(name))
  }

  /** An older and a newer worker change versions one after the other. */
  #locked(change: () => Promise<void>): Promise<void> {
    return navigator.locks.request(`${VERSIONS} ${this.scope}`, change)
  }

  get #prefix(): string {
    return `farthing files ${this.scope} `
  }
}

async function fetchFile(url: string, why: string): Promise<Fetched> {
  // The browser may have a file of an older version.
  const response = await fetch(url, { cache: 'no-cache' }).catch((cause) => {
    throw new Error(`${why}, which cannot be fetched. Check that it exists and that the network works.`, { cause })
  })
  if (response.redirected) throw new Error(`${why}, which redirects to ${response.url}. Name that URL.`)
  if (!response.ok) throw new Error(`${why}, which answers ${response.status}. Correct the name, or add the file.`)
  return { url, response, bytes: await response.clone().arrayBuffer() }
}

/** A server answers a folder and its index.html alike. */
function pageUrls(requested: string): string[] {
  const url = requested.replace(/[?#].*/, '')
  return [url, url.endsWith('/') ? `${url}index.html` : url.replace(/(?<=\/)index\.html$/, '')]
}

const isHtml = ({ headers }: Response): boolean => /^text\/html\b/i.test(headers.get('content-type') ?? '')

/** Whether a URL is a base URL without its last slash, or below it. */
export const isBelow = (url: string, base: string): boolean =>
  url.startsWith(base) && /^([/?#]|$)/.test(url.slice(base.length))

async function digestOf(files: readonly Fetched[]): Promise<string> {
  const digests = await Promise.all(
    files.map(async ({ url, bytes }) => `${url} ${hex(await crypto.subtle.digest('SHA-256', bytes))}`),
  )
  return hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(digests.join('\n'))))
}

const hex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

const loaded: Record<string, string> = { script: 'src', link: 'href', img: 'src' }
const LOADED_LINK = /^(stylesheet|modulepreload|preload|icon|manifest)$/i

/** The URLs of the scripts, styles, images and other files that the HTML of a page loads. `url` is where the page is. */
function namedFiles(html: string, url: string): string[] {
  const text = html.replace(/<!--[\s\S]*?-->/g, '').replace(/(<script\b[^>]*>)[\s\S]*?<\/script>/gi, '$1')
  const base = new URL(attributesOf(/<base\b([^>]*)>/i.exec(text)?.[1]).href ?? '', url)
  return [...text.matchAll(/<(script|link|img)\b([^>]*)>/gi)].flatMap(([, tag = '', given]) => {
    const attributes = attributesOf(given)
    const named = attributes[loaded[tag.toLowerCase()] ?? '']
    const isLoaded = tag.toLowerCase() !== 'link' || attributes.rel?.split(/\s/).some((rel) => LOADED_LINK.test(rel))
    if (!named || !isLoaded || !URL.canParse(named, base.href)) return []
    const file = new URL(named, base)
    file.hash = ''
    return /^https?:$/.test(file.protocol) ? [file.href] : []
  })
}

function attributesOf(text = ''): Record<string, string | undefined> {
  const found = text.matchAll(/([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g)
  return Object.fromEntries(
    [...found].map(([, name = '', ...values]) => [
      name.toLowerCase(),
      values.find((value) => value !== undefined)?.replaceAll('&amp;', '&'),
    ]),
  )
}
