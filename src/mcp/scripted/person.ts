import type { Sandbox } from '../../controls/sandbox.js'

/** Answers requests: a service's own `fetch`. */
export type Fetch = (request: Request) => Promise<Response>

/** Where a person is played. */
export interface Stage {
  readonly baseUrl: string
  readonly fetch: Fetch
  /** Their mail and their phone. */
  readonly sandbox: Pick<Sandbox, 'outbox' | 'phone'>
}

export interface Person {
  readonly email: string
  /** The id of the business account that they grant; none where absent. */
  readonly account?: number | undefined
}

/** More pages than lead from an app to its answer. */
const MOST_STEPS = 12

/**
 * Plays a user in their browser, from an app's authorization request to its answer, by the very pages that people see: email, code,
 * second factor where they have a device, and consent. Gives the address that the browser is sent to at the end.
 */
export async function authorizeAs({ email, account }: Person, authorization: URL, stage: Stage): Promise<URL> {
  const browser = new Browser(stage)
  const { location: page } = await browser.visit(authorization)
  // What is wrong with the request itself is told to the app.
  if (!page?.href.startsWith(stage.baseUrl)) return page ?? authorization
  await browser.visit(page, { answer: 'continue', email })
  const { messages } = await stage.sandbox.outbox({ to: email, kind: 'mail', limit: 1 })
  let shown = await browser.visit(page, { answer: 'verify', code: messages[0]?.codes[0] ?? '' })
  for (let step = 0; step < MOST_STEPS; step++) {
    if (shown.location && !shown.location.href.startsWith(page.href)) return shown.location
    if (shown.waits) await browser.approveOnPhone()
    const isAsked = !shown.location && !shown.waits
    shown = await browser.visit(page, isAsked ? { answer: 'allow', account: String(account ?? 'none') } : undefined)
  }
  throw new Error(`${email} was led nowhere by ${page.pathname}.`)
}

/** As much of one as pages without script need. */
class Browser {
  #session: string | undefined

  constructor(readonly stage: Stage) {}

  /** Opens a page, or sends its form. `waits`: it will look again by itself. */
  async visit(url: URL, form?: Record<string, string>): Promise<{ location: URL | undefined; waits: boolean }> {
    const answer = await this.stage.fetch(
      new Request(url, {
        redirect: 'manual',
        headers: this.#headers('text/html'),
        ...(form && { method: 'POST', body: new URLSearchParams(form) }),
      }),
    )
    if (answer.status >= 400) throw new Error(`The page ${url.pathname} answered ${answer.status}.`)
    this.#session = answer.headers.get('x-session-id') ?? this.#session
    const location = answer.headers.get('location')
    return { location: location === null ? undefined : new URL(location, url), waits: answer.headers.has('refresh') }
  }

  async approveOnPhone(): Promise<void> {
    const { baseUrl, fetch, sandbox } = this.stage
    const answer = await fetch(new Request(`${baseUrl}/v4/session`, { headers: this.#headers('application/json') }))
    const { user } = (await answer.json()) as { user: { id: number } }
    await sandbox.phone(user.id).approve()
  }

  #headers(accept: string): Record<string, string> {
    return { accept, ...(this.#session !== undefined && { 'x-session-id': this.#session }) }
  }
}
