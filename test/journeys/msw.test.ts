import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { bundle } from '../support/browser/bundle.js'
import { mockServiceWorker } from '../support/msw-release.js'
import { journey, parts } from '../support/scenes/journey.js'

const { page: newPage } = journey()

const html = `<!doctype html><title>A shop</title><link rel="icon" href="data:,"><div id="pay"></div>
<script type="module" src="/page.js"></script>`
const site = createServer()
let url = ''

beforeAll(async () => {
  const scripts: Record<string, string> = {
    '/page.js': await bundle('support/browser/msw.page.ts', 'esm'),
    '/mockServiceWorker.js': await mockServiceWorker(),
  }
  site.on('request', ({ url = '' }, response) => {
    const script = scripts[url]
    if (script === undefined && url !== '/') return response.writeHead(404).end('<title>Not here</title>')
    response.setHeader('content-type', script ? 'text/javascript; charset=utf-8' : 'text/html').end(script ?? html)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  url = `http://localhost:${(site.address() as AddressInfo).port}/`
})
afterAll(() => {
  site.closeAllConnections()
  site.close()
})

async function openPage(): Promise<Page> {
  const page = await newPage()
  await page.goto(url)
  await page.locator('html[data-ready]').waitFor({ state: 'attached' })
  return page
}

const ask = (method: string, path: string, body?: object, init?: RequestInit) => `
  fetch('/pay${path}', { method: '${method}', headers: { 'content-type': 'application/json' },
    ...${JSON.stringify({ ...init, ...(body && { body: JSON.stringify(body) }) })} })
    .then(async (answer) => [answer.status, JSON.parse(await answer.text() || 'null')])`

test("a reader signs in under MSW's worker by a cookie that the page cannot see", async () => {
  const page = await openPage()
  const email = 'ada+code123456@example.test'
  expect(await page.evaluate(ask('POST', '/v4/session/code', { email }))).toMatchObject([202, {}])
  expect(await page.evaluate(ask('POST', '/v4/session/verify', { email, code: '123456' }))).toMatchObject([200, {}])
  expect(await page.evaluate(ask('GET', '/v4/session'))).toMatchObject([200, { user: { email } }])
  expect(await page.evaluate(ask('GET', '/v4/session', undefined, { credentials: 'omit' }))).toMatchObject([
    200,
    { user: null },
  ])
  expect(await page.evaluate('document.cookie')).toBe('')
  expect(await page.evaluate(ask('DELETE', '/v4/session'))).toEqual([204, null])
  expect(await page.evaluate(ask('GET', '/v4/session'))).toMatchObject([200, { user: null }])
})

test("MSW's worker streams answers piece by piece and aborts those that fail", async () => {
  const page = await openPage()
  const said = await page.evaluate(async () => {
    const said: string[] = []
    const reader = (await fetch('/streams/one')).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
    for (const piece of ['one', 'two']) {
      streams[0]?.enqueue(new TextEncoder().encode(piece))
      said.push(new TextDecoder().decode((await reader.read()).value))
    }
    streams[0]?.error(new Error('the disk is gone'))
    await reader.read().catch((error: Error) => said.push(error.name))
    return said
  })
  expect(said).toEqual(['one', 'two', 'TypeError'])
})

const mountElement = (page: Page): Promise<unknown> =>
  page.evaluate(`import('/pay/micropay.js').then(() => loadMicroPayments('${demo.account.public_secret}').elements()
    .create('payment', { hash: '${demo.commodities.article}' }).mount('#pay'))`)

/** The worker of MSW 3 answers the requests of frames, and that of MSW 2 leaves them to the network. */
if (/PACKAGE_VERSION = '2\./.test(await mockServiceWorker()))
  test('a payment element logs that no mocking worker answers its frame', async () => {
    const page = await openPage()
    page.removeAllListeners('console')
    const complaint = page.waitForEvent('console', (message) => message.text().startsWith('MicroPayments:'))
    await mountElement(page)
    const said = await complaint
    expect(said.type()).toBe('error')
    expect(said.text()).toBe(
      `MicroPayments: ${url}pay/v2/embed/${demo.commodities.article} does not show a payment embed. A mocking worker answers only frames of its own origin, and that of MSW 2 answers none. Run a sandbox server at that origin, or use farthing/service-worker.`,
    )
  })
else
  test("a reader signs in and pays in an element whose frame MSW's worker answers", async () => {
    const page = await openPage()
    await mountElement(page)
    const shown = parts(page.frameLocator('#pay iframe'))
    await shown.open.click()
    await shown.email.fill(demo.payer.email)
    await shown.continue.click()
    await shown.code.fill(demo.payer.code)
    await shown.verify.click()
    await shown.pay.click()
    await shown.open.waitFor()
    expect(await page.evaluate(ask('GET', `/v4/twins`))).toMatchObject([
      200,
      { twins: [{ hostname: demo.payer.hostname }] },
    ])
  })
