/** Answers requests: a service's own `fetch`. */
export type Fetch = (request: Request) => Promise<Response>

/** What of a page somebody sees who answers it. */
export interface BrowserPage {
  /** Where it leads by itself. */
  readonly location: URL | undefined
  /** It will look again by itself. */
  readonly waits: boolean
  /** The answers of its buttons. */
  readonly buttons: readonly string[]
  /** The accounts to pick from. */
  readonly choices: readonly string[]
}

/** As much of a browser as pages without script need. */
export class Browser {
  #session: string | undefined

  constructor(readonly fetch: Fetch) {}

  /** Opens a page, or sends its form. Throws what a page says that refuses. */
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

/** The values that a page has for one field of its forms. */
const valuesOf = (name: string, html: string): string[] =>
  [...html.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, 'g'))].map(([, value = '']) => value)

const alertIn = (html: string): string | undefined => /role="alert"[^>]*>([^<]*)</.exec(html)?.[1]
