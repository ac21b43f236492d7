import { expect } from 'vitest'
import { onwardIn } from '../scenes/oidc.js'
import type { Host } from './host.js'

/** A browser as far as sign-in and consent need one: cookies, redirects within the service, forms with their Origin. */
export class UserAgent {
  readonly #host: Pick<Host, 'url' | 'call'>
  readonly #cookies = new Map<string, string>()
  /** The page that is open. */
  address = ''
  status = 0
  html = ''

  constructor(host: Pick<Host, 'url' | 'call'>) {
    this.#host = host
  }

  /** Opens an address. Returns the address of another site if it redirects there. */
  open(address: string | URL): Promise<URL | undefined> {
    return this.#go('GET', String(address))
  }

  /** Sends the form of the page that is open by one of its buttons. */
  press(answer: string, fields: Record<string, string> = {}): Promise<URL | undefined> {
    return this.submit(this.address, { ...fields, answer })
  }

  submit(address: string, fields: Record<string, string>): Promise<URL | undefined> {
    return this.#go('POST', address, new URLSearchParams(fields))
  }

  /** Signs in on the page that is open. */
  async signIn(email = 'ada@example.test'): Promise<URL | undefined> {
    await this.press('continue', { email })
    const { body } = await this.#host.call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=1`)
    return this.press('verify', { code: body.messages[0].codes[0] })
  }

  /** Opens an authorization request and does what is asked, up to the address that it comes back to. */
  async authorize(address: string | URL, { email, account = 'none' }: { email?: string; account?: string } = {}) {
    const back =
      (await this.open(address)) ??
      (this.#asks('Email') ? await this.signIn(email) : undefined) ??
      (await this.press('allow', { account }))
    expect(back, this.html).toBeInstanceOf(URL)
    return back as URL
  }

  #asks(label: string): boolean {
    return this.html.includes(`>${label}</label>`)
  }

  /** Where the link leads of a page that shows it instead of redirecting. */
  get onward(): URL {
    return onwardIn(this.html)
  }

  /** The Cookie header that it sends. */
  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  get asksForEmail(): boolean {
    return this.#asks('Email')
  }

  get asksForConsent(): boolean {
    return this.html.includes('>Allow</button>')
  }

  async #go(method: string, address: string, form?: URLSearchParams): Promise<URL | undefined> {
    const response = await fetch(address, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        ...(this.#cookies.size > 0 && { cookie: this.cookie }),
        ...(form && { origin: new URL(this.#host.url).origin }),
      },
      ...(form && { body: form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (response.status === 303 && location !== null) {
      const next = new URL(location, address)
      return next.href.startsWith(`${this.#host.url}/`) ? this.#go('GET', next.href) : next
    }
    this.address = address
    this.status = response.status
    this.html = await response.text()
    return undefined
  }
}
