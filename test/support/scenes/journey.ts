import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContextOptions, FrameLocator, Page } from 'playwright-core'
import { afterAll, afterEach, expect, vi } from 'vitest'
import { serve } from '../../../adapters/node.js'
import { sandboxPages } from '../../../sandbox/pages/pages.js'
import { demo } from '../../../sandbox/seed/demo.js'
import type { Evidence } from '../../../src/base/evidence.js'
import { PAGE_CALL } from '../../../src/base/page-call.js'
import { createService, type Seed } from '../../../src/index.js'
import type { Storage } from '../../../src/storage/storage.js'
import { type Call, caller } from '../api.js'
import { keptBrowser } from '../browser/browser.js'

/** A sandbox that listens on 127.0.0.1, pages included. */
export interface Host {
  readonly url: string
  readonly call: Call
  close(): Promise<void>
}

/** Someone else's site: reached as localhost, so that it is another site than the service and not only another origin. */
export interface Site {
  readonly url: string
  close(): Promise<void>
}

export interface HostOptions {
  /** What becomes of every answer. */
  readonly change?: (answer: Response) => Promise<Response>
  /** Whose pages may call, beside those of this machine. */
  readonly allowOrigins?: readonly string[]
  /** The mode of the service. `call` then calls like its pages, so that scenes can be set. */
  readonly evidence?: Evidence
  /** The unit of balances. */
  readonly balances?: 'quantity' | 'smallest'
  readonly storage?: Storage
}

export interface Journey {
  host(seed?: Seed, options?: HostOptions): Promise<Host>
  site(html: string, headers?: Record<string, string>): Promise<Site>
  /** A page of a browser that knows nothing yet. Messages of its console that are errors fail the test. */
  page(options?: BrowserContextOptions): Promise<Page>
  /** One more page, which stays as it is from each test of the file to the next. */
  lasting(): Promise<Page>
  /** A shop that stays open likewise, in that page. Who mounts a further element in it destroys it. */
  lastingShop(): Promise<{ readonly service: Host; readonly page: Page }>
}

/** What a journey needs: created on demand and closed after each test. */
export function journey(): Journey {
  const open: { close(): Promise<void> }[] = []
  const faults: string[] = []
  const stays: { close(): Promise<void> }[] = []
  let lasting: Promise<Page> | undefined
  let lastingShop: ReturnType<Journey['lastingShop']> | undefined
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close()
    expect(faults.splice(0), 'errors of the pages').toEqual([])
  })
  afterAll(async () => {
    await (await lasting)?.context().close()
    for (const each of stays) await each.close()
  })
  const kept = <T extends { close(): Promise<void> }>(made: T): T => {
    open.push(made)
    return made
  }
  async function openShop() {
    const service = await startHost()
    stays.push(service)
    const shop = await startSite(shopHtml(service))
    stays.push(shop)
    const page = await (lasting ??= openPage(faults))
    await visit(page, shop.url)
    return { service, page }
  }
  return {
    host: async (...options) => kept(await startHost(...options)),
    site: async (html, headers) => kept(await startSite(html, headers)),
    async page(options) {
      const page = await openPage(faults, options)
      kept(page.context())
      return page
    },
    lasting: () => (lasting ??= openPage(faults)),
    lastingShop: () => (lastingShop ??= openShop()),
  }
}

async function openPage(faults: string[], options: BrowserContextOptions = {}): Promise<Page> {
  // A dialog that moves costs the browser a third more.
  const context = await (await keptBrowser()).newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    // That an answer is a refusal, or does not come, is part of many journeys.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(message.text())
  })
  return page
}

/** What the setup of the tests has built. */
const built = new URL('../../../dist/demo/', import.meta.url)

async function startHost(
  seed: Seed = demo.seed,
  {
    change = async (answer) => answer,
    allowOrigins = [],
    evidence = 'designed',
    balances = 'quantity',
    storage,
  }: HostOptions = {},
): Promise<Host> {
  let service: ReturnType<typeof createService> | undefined
  const served = await serve(
    (baseUrl) => {
      service = createService({
        baseUrl,
        sandbox: true,
        seed,
        allowOrigins,
        evidence,
        balances,
        ...(storage && { storage }),
      })
      const pages = sandboxPages({ service, demo, built })
      return { respond: async (request, source) => change(await pages.respond(request, source)) }
    },
    { port: 0 },
  )
  const call = caller({ url: served.url, fetch: (request) => fetch(request) })
  const likePage: Call = (method, path, { headers, ...sent } = {}) =>
    call(method, path, { ...sent, headers: { [PAGE_CALL]: 'test', ...headers } })
  return {
    url: served.url,
    call: evidence === 'designed' ? call : likePage,
    async close() {
      await served.close()
      await service?.close()
    },
  }
}

/** A site with one page. */
export async function startSite(html: string, headers: Record<string, string> = {}): Promise<Site> {
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(html),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** What an element is made of, and what its page listens for. */
export interface Mounted {
  readonly type?: string
  readonly options?: object
  readonly events?: readonly string[]
}

/** Sells the article however often it was bought, so that a test can look at the button after a payment. */
const again = { hash: demo.commodities.article, repeat: true }

/** A shop's page that mounts the payment element. */
export const shopHtml = (service: Pick<Host, 'url'>, options: object = again): string =>
  elementHtml(service, { options })

/** A page that mounts an element, and keeps in `window.heard` the events it gets, as `name on place`. */
export const elementHtml = (
  { url }: Pick<Host, 'url'>,
  { type = 'payment', options = {}, events = ['payment', 'purchase'] }: Mounted,
): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A shop</title><meta name="viewport" content="width=device-width">
<style>:root { color-scheme: light dark } body { margin: 24px; font-family: sans-serif; background: Canvas; color: CanvasText }</style></head>
<body><main><h1>A shop</h1><p><a href="#pay">Before</a></p><div id="pay"></div><p><a href="#pay">After</a></p></main>
<script type="module" crossorigin="anonymous" src="${url}/micropay.js"></script>
<script type="module">
  window.heard = []
  for (const [place, target] of Object.entries({ root: document.documentElement, document, window }))
    for (const name of ${JSON.stringify(events)})
      target.addEventListener(name, ({ detail }) => heard.push({ event: name + ' on ' + place, detail }))
  window.element = loadMicroPayments('${demo.account.public_secret}').elements().create('${type}', ${JSON.stringify(options).replaceAll('<', '\\u003c')})
  await element.mount('#pay')
  window.mounted = true
</script></body></html>`

export interface Heard {
  readonly event: string
  readonly detail: { hash: string; hostname: string; nonce: string; timestamp: number }
}

export const heardBy = (page: Page): Promise<Heard[]> => page.evaluate('window.heard')

/** Opens a shop's page and waits for its element. Returns the frame. */
export async function visit(page: Page, url: string): Promise<FrameLocator> {
  await page.goto(url)
  await page.evaluate(`new Promise((resolve) => {
    if (window.mounted) resolve()
    else Object.defineProperty(window, 'mounted', { set: resolve })
  })`)
  return page.frameLocator('#pay iframe')
}

/** What can be found in an embed, by the names that people hear. */
export const parts = (frame: FrameLocator, closed = /^(Pay|Read)\b.* USD/) => ({
  open: frame.getByRole('button', { name: closed }),
  dialog: frame.getByRole('dialog'),
  email: frame.getByRole('textbox', { name: 'Email' }),
  code: frame.getByRole('textbox', { name: 'Code' }),
  continue: frame.getByRole('button', { name: 'Continue', exact: true }),
  verify: frame.getByRole('button', { name: 'Verify', exact: true }),
  pay: frame.getByRole('button', { name: 'Pay', exact: true }),
  allow: frame.getByRole('button', { name: 'Allow', exact: true }),
  cancel: frame.getByRole('button', { name: 'Cancel', exact: true }),
  fund: frame.getByRole('button', { name: 'Add test funds', exact: true }),
  topUp: frame.getByRole('button', { name: /^Top up .* by card$/ }),
  receipt: frame.locator('#receipt'),
  done: frame.getByRole('status'),
  alert: frame.getByRole('alert'),
  balance: frame.getByText(/^BALANCE \d\S* USD$/),
})

export type Parts = ReturnType<typeof parts>

/** From the closed button to the step that pays. */
export async function signIn(host: Host, shown: Parts, email: string): Promise<void> {
  await signInByCode(host, shown, email)
  await shown.balance.waitFor()
}

/** From the closed button to the step that pays, as a reader who signed in there before. */
export async function openSignedIn(host: Host, shown: Parts, email: string): Promise<void> {
  await openWithSession(host, shown, email)
  await shown.balance.waitFor()
}

/** Opens any element as a reader who signed in there before. */
export async function openWithSession(host: Host, shown: Parts, email: string): Promise<void> {
  await signInBefore(host, shown, email)
  await shown.open.click()
}

/** The frame keeps the session of a reader, whom it asks for nothing then. */
export async function signInBefore({ call }: Host, shown: Parts, email: string): Promise<void> {
  const { session_id } = (await call('POST', '/_sandbox/sign-in', { body: { email } })).body
  await shown.open.evaluate((_, session) => localStorage.setItem('farthing.session', session), session_id)
}

/** From the closed button on, by the code in the outbox. */
export async function signInByCode({ call }: Host, shown: Parts, email: string): Promise<void> {
  await shown.open.click()
  await shown.email.fill(email)
  await shown.continue.click()
  await shown.code.fill(await codeFor(call, shown, email))
  await shown.verify.click()
}

/** The newest code for an address, once the frame asks for it. */
export async function codeFor(call: Call, shown: Parts, email: string): Promise<string> {
  await shown.code.waitFor()
  const find = async () =>
    (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=1`)).body.messages[0]?.codes[0]
  // The mail is written after the answer.
  return vi.waitUntil(find, { interval: 20 })
}

/** An access token of the demo's account. */
export async function sellerToken(call: Call): Promise<string> {
  const { client_id, client_secret } = demo.account
  const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
  return (await call('POST', '/v4/account/oauth/token', { headers })).body.access_token
}

/** Issues value to the payer whom the frame names. */
export const fundPayer = (call: Call, hostname: string, amount: number) =>
  call('POST', '/_sandbox/fund', { body: { hostname, amount } })

/** The twin that the demo's account was made with, and the first digital quantity. */
async function demoTwin(call: Call) {
  const token = await sellerToken(call)
  const { twins } = (await call('GET', '/v4/twins', { token })).body
  const [dq] = (await call('GET', '/v4/dq')).body.digital_quantities
  return { token, dq, id: twins.at(-1).id, hostname: twins.at(-1).hostname }
}

/** Something of the demo's account that pays its readers, from a twin that holds `balance`. */
export async function newPayback(call: Call, { cost = 0.25, balance = 5 }: { cost?: number; balance?: number } = {}) {
  const { token, dq, id, hostname } = await demoTwin(call)
  await fundPayer(call, hostname, balance)
  const body = { descriptor: 'NEWS.CONSENT', dq, cost, twin_id: id, payback: true }
  const { hash } = (await call('POST', '/v4/commodity', { token, body })).body
  return { hash, hostname } as { hash: string; hostname: string }
}

/** A persona of the demo's account. `delegate` creates a delegate for a twin and returns its hash. */
export async function newPersona(call: Call, { name, description }: { name: string; description?: string }) {
  const { token, id } = await demoTwin(call)
  const { hash } = (await call('POST', '/v4/persona', { token, body: { name, description, twin_id: id } })).body
  return {
    hash: hash as string,
    async delegate(hostname: string, holder: string): Promise<string> {
      const body = { hostname, name: holder, email: 'holder@example.test' }
      return (await call('POST', `/v3/persona/${hash}/delegate`, { token, body })).body.hash
    },
  }
}
