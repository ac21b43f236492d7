/** Answers requests, like a service's own `fetch`. */
export type Fetch = (request: Request) => Promise<Response>

/** The parts of a page that its user acts on. */
export interface BrowserPage {
  /** URL to which it redirects. */
  readonly location: URL | undefined
  /** Whether it reloads by itself. */
  readonly waits: boolean
  /** The values of its buttons. */
  readonly buttons: readonly string[]
  /** The accounts to choose from. */
  readonly choices: readonly string[]
}

/** A browser for pages without script. */
export class Browser {
  #session: string | undefined

  constructor(readonly fetch: Fetch) {}

  /** Opens a page or sends its form. Throws an Error with the page's sentence if it refuses. */
  async visit(url: URL, form?: Record<string, string>): Promise<BrowserPage> {
    const answer = await this.fetch(
      new Request(url, {
        redirect: 'manual',
        headers: this.#headers('text/html'),
        ...(form && { method: 'POST', body: new URLSearchParams(form) }),
      }),
    )
    const html = await answer.text()
    if (answer.status >= 400)
      throw new Error(`The page ${url.pathname} answered ${answer.status}: ${alertIn(html) ?? html}`)
    this.#session = answer.headers.get('x-session-id') ?? this.#session
    const location = answer.headers.get('location')
    return {
      location: location === null ? undefined : new URL(location, url),
      waits: answer.headers.has('refresh'),
      buttons: valuesOf('answer', html),
      choices: valuesOf('account', html),
    }
  }

  #headers(accept: string): Record<string, string> {
    return { accept, ...(this.#session !== undefined && { 'x-session-id': this.#session }) }
  }
}

/** Returns the values that a page has for one field. */
const valuesOf = (name: string, html: string): string[] =>
  [...html.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, 'g'))].map(([, value = '']) => value)

const alertIn = (html: string): string | undefined => /role="alert"[^>]*>([^<]*)</.exec(html)?.[1]
