import { LimitedMap } from '../../base/memo.js'
import type { Alarm } from '../../base/ports.js'
import { quoted } from '../../base/text/quotation.js'
import type { Sandbox } from '../controls/sandbox.js'

export interface Stage {
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly sandbox: Pick<Sandbox, 'outbox' | 'phone' | 'approve' | 'reject'>
  readonly alarm: Alarm
}

export interface Person {
  readonly email: string
  /** Id of the business account that they grant. Default: none. */
  readonly account?: number | undefined
}

type Asking = { readonly app: string; readonly address: URL }

const MOST_STEPS = 12
/** What a phone is asked in this flow: to sign in, and to connect the app. */
const ASKING = new Set(['sign_in', 'connect_app'])
/** Interval between checks of a phone, and the longest wait beyond the delay that it is set to. */
const PHONE_CHECK_MS = 50
const PATIENCE_MS = 30_000
/** How many browsers stay open. A person whose browser was closed signs in again. */
const MOST_BROWSERS = 1000

/** The people of a sandbox by email. Each has one browser, which stays signed in, and does one thing at a time. */
export class People {
  readonly #browsers = new LimitedMap<string, Visit>(MOST_BROWSERS)
  readonly #busy = new Map<string, Promise<unknown>>()

  constructor(readonly stage: Stage) {}

  /**
   * Plays a user from an app's authorization request to its answer, on the pages that people see: email and code,
   * second factor if they have a device, and consent. Returns the URL to which the browser is sent in the end.
   * Throws the sentence of a page that refuses, and an Error if the user rejects on their phone.
   */
  async authorize(person: Person, request: Asking): Promise<URL> {
    const name = person.email.toLowerCase()
    const before = (this.#busy.get(name) ?? Promise.resolve()).catch(() => {})
    const turn = before.then(() => this.#authorize(person, request))
    this.#busy.set(name, turn)
    const leave = () => this.#busy.get(name) === turn && this.#busy.delete(name)
    void turn.then(leave, leave)
    return turn
  }

  async #authorize(person: Person, { app, address }: Asking): Promise<URL> {
    const { stage } = this
    const name = person.email.toLowerCase()
    const visit = this.#browsers.get(name) ?? browser(stage.fetch)
    this.#browsers.set(name, visit)
    const { location: page } = await visit(address)
    // The app gets the errors of the request itself.
    if (!page?.href.startsWith(stage.baseUrl)) return page ?? address
    let shown = await visit(page)
    for (let step = 0; step < MOST_STEPS; step++) {
      if (shown.location && !shown.location.href.startsWith(page.href)) return shown.location
      if (shown.waits) shown = await this.#answerOnPhone(person, app, visit, page)
      else shown = await visit(page, shown.location ? undefined : await this.#fillIn(person, shown))
    }
    throw new Error(`${person.email} was not redirected by the page ${page.pathname}.`)
  }

  async #fillIn({ email, account }: Person, { buttons, choices }: BrowserPage): Promise<Record<string, string>> {
    if (buttons.includes('continue')) return { answer: 'continue', email }
    if (buttons.includes('verify')) return { answer: 'verify', code: await this.#mailedCode(email) }
    if (buttons.includes('ask_again')) throw new Error(`The phone of ${email} did not answer in time.`)
    const picked = String(account ?? 'none')
    if (account !== undefined && !choices.includes(picked)) {
      const offered = choices.filter((choice) => choice !== 'none').join(', ')
      throw new Error(`${email} cannot grant the account ${picked}: the page offers ${offered || 'none'}.`)
    }
    return { answer: 'allow', account: picked }
  }

  async #mailedCode(email: string): Promise<string> {
    const { messages } = await this.stage.sandbox.outbox({ to: email, kind: 'mail', limit: 1 })
    return messages[0]?.codes[0] ?? ''
  }

  /** Answers for a phone in `manual` mode, and only requests of this app. Otherwise waits for the phone. */
  async #answerOnPhone({ email }: Person, app: string, visit: Visit, page: URL): Promise<BrowserPage> {
    const phone = this.stage.sandbox.phone(await this.#askedUser(email))
    const { mode, after_seconds, requests } = await phone.read()
    if (mode === 'ignore')
      throw new Error(`The phone of ${email} is set to ignore requests, so nobody approved ${app}.`)
    const asked = requests.filter(({ action, detail }) => ASKING.has(action) && detail.app === quoted(app))
    if (mode === 'manual' && asked.length > 0) await phone.approve(Math.max(...asked.map(({ id }) => id)))
    for (let waited = 0; waited <= after_seconds * 1000 + PATIENCE_MS; waited += PHONE_CHECK_MS) {
      const shown = await visit(page)
      if (shown.location?.searchParams.get('error') === 'access_denied')
        throw new Error(`${email} rejected the connection of ${app} on their phone.`)
      if (!shown.waits) return shown
      await this.#pause()
    }
    throw new Error(`The phone of ${email} did not answer within ${after_seconds + PATIENCE_MS / 1000} seconds.`)
  }

  /** Returns the id of a user who was asked by a push, and who may not be signed in yet. */
  async #askedUser(email: string): Promise<number> {
    const { messages } = await this.stage.sandbox.outbox({ to: email, kind: 'push', limit: 1 })
    return Number(messages[0]?.data?.user_id)
  }

  #pause = () => new Promise<void>((resolve) => this.stage.alarm.set(PHONE_CHECK_MS, resolve))
}

/** Answers requests, like a service's own `fetch`. */
export type Fetch = (request: Request) => Promise<Response>

export interface BrowserPage {
  /** URL to which it redirects. */
  readonly location: URL | undefined
  /** Whether it reloads by itself. */
  readonly waits: boolean
  readonly buttons: readonly string[]
  readonly choices: readonly string[]
}

/** Opens a page or sends its form. Throws an Error with the page's sentence if it refuses. */
type Visit = (url: URL, form?: Record<string, string>) => Promise<BrowserPage>

/** A browser for pages without script. It keeps its session. */
function browser(fetch: Fetch): Visit {
  let session: string | undefined
  return async (url, form) => {
    const headers = { accept: 'text/html', ...(session !== undefined && { 'x-session-id': session }) }
    const sent = form && { method: 'POST', body: new URLSearchParams(form) }
    const answer = await fetch(new Request(url, { redirect: 'manual', headers, ...sent }))
    const html = await answer.text()
    if (answer.status >= 400)
      throw new Error(`The page ${url.pathname} answered ${answer.status}: ${alertIn(html) ?? html}`)
    session = answer.headers.get('x-session-id') ?? session
    const location = answer.headers.get('location')
    return {
      location: location === null ? undefined : new URL(location, url),
      waits: answer.headers.has('refresh'),
      buttons: valuesOf('answer', html),
      choices: valuesOf('account', html),
    }
  }
}

const valuesOf = (name: string, html: string): string[] =>
  [...html.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, 'g'))].map(([, value = '']) => value)
const alertIn = (html: string): string | undefined => /role="alert"[^>]*>([^<]*)</.exec(html)?.[1]
