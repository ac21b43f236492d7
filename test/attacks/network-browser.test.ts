import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import type { Call } from '../support/api.js'
import { keptBrowser } from '../support/browser/browser.js'
import { parts, signIn } from '../support/scenes/journey.js'
import { startProxy, startTarget } from '../support/scenes/strangers.js'

/** What a website can do to a sandbox, in a browser that takes names of someone else's for this machine. */

const TOKEN = 'a-token-of-twenty-four-1'

async function startSite(html = '<!doctype html><title>A page</title><link rel="icon" href="data:,"><p>Hello') {
  const server = createServer((_, res) => res.writeHead(200, { 'content-type': 'text/html' }).end(html))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function newPage(): Promise<Page> {
  const page = await (await (await keptBrowser()).newContext()).newPage()
  page.setDefaultTimeout(60_000)
  return page
}

/** What becomes of a call that the page makes: its status, or `nothing` where the browser shows the page none. */
const ask = (page: Page, url: string, init: object = {}): Promise<number | string> =>
  page.evaluate(
    ([url, init]) =>
      fetch(url, init).then(
        (answer) => (answer.type === 'opaque' ? 'opaque' : answer.status),
        () => 'nothing',
      ),
    [url, init] as const,
  )

test('a page of another site reads and changes nothing, and a page of this machine does both', async () => {
  const target = await startTarget()
  const site = await startSite()
  await target.service.ready()
  const before = await target.state()
  const page = await newPage()
  await page.goto(`http://evil.example.test:${site.port}/`)
  const post = { method: 'POST', body: '{"email":"eve@example.test"}' }
  const json = { 'content-type': 'application/json' }
  for (const base of [target.url, `http://localhost:${target.port}`]) {
    for (const path of ['/v4/dq', '/_sandbox/health', '/_sandbox/outbox', '/phone'])
      expect([path, await ask(page, base + path)]).toEqual([path, 'nothing'])
    for (const path of ['/v4/account', '/v4/session/code', '/v4/oidc/reg', '/_sandbox/reset', '/shop/unlock']) {
      expect([path, await ask(page, base + path, post)]).toEqual([path, 'nothing'])
      expect([path, await ask(page, base + path, { ...post, mode: 'no-cors' })]).toEqual([path, 'opaque'])
      expect([path, await ask(page, base + path, { ...post, headers: json })]).toEqual([path, 'nothing'])
      const bearer = { ...json, authorization: 'Bearer x', 'x-control-token': 'x' }
      expect([path, await ask(page, base + path, { ...post, headers: bearer })]).toEqual([path, 'nothing'])
    }
    // Of a sandboxed frame, as of a file, the origin is null; a page that sends no referrer sends that, too.
    const form = `<form method="post" action="${base}/v4/account"><button>Go</button></form>`
    for (const attribute of ['sandbox="allow-forms allow-scripts"', 'referrerpolicy="no-referrer"', '']) {
      const answered = page.waitForResponse(`${base}/v4/account`)
      await page.evaluate(
        ([form, attribute]) => {
          const go = '<script>document.forms[0].submit()</' + 'script>'
          const frame = `<iframe ${attribute} srcdoc="${(form + go).replaceAll('"', '&quot;')}"></iframe>`
          document.body.innerHTML = frame
        },
        [form, attribute] as const,
      )
      expect([attribute, (await answered).status()]).toEqual([attribute, 403])
    }
  }
  expect(await target.state()).toEqual(before)

  await page.goto(`http://localhost:${site.port}/`)
  expect(await ask(page, `${target.url}/v4/account`, { method: 'POST' })).toBe(201)
  expect(await ask(page, `${target.url}/_sandbox/outbox`)).toBe(200)
  const code = { ...post, headers: { ...json, 'x-session-id': 'none' } }
  expect(await ask(page, `http://localhost:${target.port}/v4/session/code`, code)).toBe(202)
  await page.context().close()
  await site.close()
  await target.close()
})

test('a page whose name is rebound to this machine reads and changes nothing', async () => {
  // The page comes from its own server; all that it asks for after, under the same name and port, from the sandbox.
  const site = await startSite()
  const page = await newPage()
  await page.goto(`http://evil.example.test:${site.port}/`)
  await site.close()
  const target = await startTarget({}, site.port)
  await target.service.ready()
  const before = await target.state()
  for (const path of ['/', '/v4/dq', '/_sandbox/outbox', '/_sandbox/snapshot', '/phone'])
    expect([path, await ask(page, path)]).toEqual([path, 421])
  for (const path of ['/v4/account', '/_sandbox/reset']) expect(await ask(page, path, { method: 'POST' })).toBe(421)
  expect(await target.state()).toEqual(before)
  await page.context().close()
  await target.close()
})

test('the pages of a sandbox in a container work with the control token', async () => {
  const target = await startTarget({ controlToken: TOKEN, allowHosts: ['sandbox.example.test'] })
  const proxy = await startProxy(target)
  const url = `http://sandbox.example.test:${proxy.port}`
  const page = await newPage()
  await page.goto(`${url}/`)
  await page.getByText('This sandbox asks for its control token').waitFor()
  await page.goto(`${url}/phone`)
  await page.getByText('add ?control_token=').first().waitFor()

  await page.goto(`${url}/?control_token=${TOKEN}`)
  expect(page.url()).toBe(`${url}/`)
  expect(await page.evaluate('document.cookie')).toBe('')
  await page.goto(`${url}/shop`)
  const shown = parts(page.frameLocator('iframe'))
  const controlling = { headers: { 'x-control-token': TOKEN } }
  const call: Call = (method, path, options) => target.call(method, path, { ...options, ...controlling })
  await signIn({ ...target, call }, shown, demo.payer.email)
  await shown.pay.click()
  await page.getByText('Paid and validated').waitFor()
  const code = (await target.service.sandbox.outbox()).messages[0]?.codes[0] ?? 'none'
  await page.goto(`${url}/#/inbox`)
  await page.getByText(code, { exact: true }).first().waitFor()
  await page.goto(`${url}/phone`)
  await page.getByRole('button', { name: /phone/i }).first().waitFor()
  await page.goto(`${url}/demo/`)
  await page.getByText('This page uses plain http.').waitFor()
  await page.context().close()
  await proxy.close()
  await target.close()
})
