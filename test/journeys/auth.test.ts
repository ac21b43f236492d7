import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import {
  elementHtml,
  type Host,
  heardBy,
  journey,
  openSignedIn,
  parts,
  sellerToken,
  shopHtml,
  signIn,
  visit,
} from '../support/scenes/journey.js'
import { registerDevice } from '../support/scenes/second-factor.js'
import { mailedCode } from '../support/scenes/sign-in.js'
import { approveOnPhone, newSession } from '../support/scenes/world.js'

const { host, site, page: newPage } = journey()

const pageSession = '**/v4/session/page'

/** A page of another origin that signs readers in by something free. */
async function signInPage(service: Host) {
  const token = await sellerToken(service.call)
  const { twins } = (await service.call('GET', '/v4/twins', { token })).body
  const [dq] = (await service.call('GET', '/v4/dq')).body.digital_quantities
  const body = { descriptor: 'NEWS.SIGN-IN', dq, cost: 0, twin_id: twins[0].id }
  const { hash } = (await service.call('POST', '/v4/commodity', { token, body })).body
  return elementHtml(service, { type: 'auth', options: { hash }, events: ['authorized', 'payment'] })
}

async function opened() {
  const service = await host()
  const { url } = await site(await signInPage(service))
  const page = await newPage()
  return { service, page, url, shown: parts(await visit(page, url)) }
}

/** What the frame said to its page when it succeeded, from now on. */
async function successesOf(page: Page): Promise<() => Promise<object[]>> {
  await page.addInitScript(
    `window.said = []; addEventListener('message', ({ data }) => { const [, json] = /^_TQMSuccess;(.*)/.exec(data) ?? []; if (json) said.push(JSON.parse(json)) })`,
  )
  return () => page.evaluate('window.said')
}

test('a reader signs in, and the page gets its own session', async () => {
  const { service, page, url, shown } = await opened()
  expect(await shown.open.textContent()).toBe('Pay 0.00 USD')
  await shown.open.click()
  await page.frameLocator('iframe').getByText('Sign in to continue.').waitFor()
  await shown.cancel.click()
  await signIn(service, shown, demo.payer.email)
  const { origin, host: name } = new URL(url)
  const promised = `${name} can then request payments from you. You approve each one.`
  expect(await page.frameLocator('iframe').getByText(promised).isVisible()).toBe(true)
  expect(await shown.pay.count()).toBe(0)
  await shown.continue.click()
  await shown.open.waitFor()
  expect(await shown.done.textContent()).toBe('Signed in.')

  const heard = await heardBy(page)
  expect(heard.map(({ event }) => event).sort()).toEqual([
    'authorized on document',
    'authorized on root',
    'authorized on window',
  ])
  const { detail } = heard[0] as any
  expect(detail).toEqual({ session: { session: expect.any(String) } })
  const { session } = detail.session
  const shownTo = await service.call('GET', '/v4/session', { session, headers: { origin } })
  expect(shownTo.status).toBe(200)
  expect(shownTo.body.user.email).toBe(demo.payer.email)
  // It is not the frame's own: it pays nothing by itself.
  const payment = await service.call('POST', `/v4/payment/${demo.commodities.article}`, {
    session,
    headers: { origin },
  })
  expect([payment.status, payment.body.code]).toEqual([403, 'wrong_principal'])
})

test('a payment gives its page a session in the message that reports the payment', async () => {
  const service = await host()
  const { url } = await site(shopHtml(service))
  const page = await newPage()
  const successes = await successesOf(page)
  const shown = parts(await visit(page, url))
  await openSignedIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.waitFor()
  const [told, ...more] = (await successes()) as any[]
  expect(more).toEqual([])
  expect(told).toEqual({
    hostname: demo.payer.hostname,
    nonce: expect.any(String),
    timestamp: expect.any(Number),
    session: { session: expect.any(String) },
  })
  const headers = { origin: new URL(url).origin }
  expect((await service.call('GET', '/v4/session', { session: told.session.session, headers })).status).toBe(200)
  const elsewhere = await service.call('GET', '/v4/session', {
    session: told.session.session,
    headers: { origin: 'https://elsewhere.example.test' },
  })
  expect([elsewhere.status, elsewhere.body.code]).toEqual([401, 'page_refused'])
})

/** Embeds as in a browser that does not tell them of `facts`. */
const untold =
  (...facts: string[]) =>
  async (answer: Response): Promise<Response> => {
    if (!answer.headers.get('content-type')?.startsWith('text/html')) return answer
    const text = facts.reduce((html, fact) => html.replace(fact, 'undefined'), await answer.text())
    const headers = new Headers(answer.headers)
    // It allows the script as it was.
    headers.delete('content-security-policy')
    headers.delete('content-length')
    return new Response(text, { status: answer.status, headers })
  }

test.each([
  ['the ancestors', ['location.ancestorOrigins'], ['hostname', 'nonce', 'session', 'timestamp'], true],
  [
    'the ancestors or the referrer',
    ['location.ancestorOrigins', 'document.referrer'],
    ['hostname', 'nonce', 'timestamp'],
    false,
  ],
])('a page learns of its payment in a browser that does not reveal %s', async (_, facts, fields, promised) => {
  const service = await host(demo.seed, { change: untold(...facts) })
  const { url } = await site(shopHtml(service))
  const page = await newPage()
  const successes = await successesOf(page)
  const frame = await visit(page, url)
  const shown = parts(frame)
  await openSignedIn(service, shown, demo.payer.email)
  expect(await frame.getByText('can then request payments from you').isVisible()).toBe(promised)
  await shown.pay.click()
  await shown.open.waitFor()
  const [told] = await successes()
  expect(Object.keys(told ?? {}).sort()).toEqual(fields)
  expect(await heardBy(page)).toHaveLength(6)
})

test('without a page session, a payment is still reported, and a sign-in logs the problem', async () => {
  const { service, page, shown } = await opened()
  page.removeAllListeners('console')
  const said: string[] = []
  page.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource')) said.push(message.text())
  })
  await page.route(pageSession, (route) => route.abort())
  await openSignedIn(service, shown, demo.payer.email)
  await shown.continue.click()
  await shown.open.waitFor()
  expect(await shown.done.textContent()).toBe('Signed in.')
  expect(await heardBy(page)).toEqual([])
  expect(said).toEqual([expect.stringContaining('MicroPayments: the user signed in, but this page gets no session')])

  const shop = await site(shopHtml(service))
  const other = await newPage()
  await other.route(pageSession, (route) => route.abort())
  const there = parts(await visit(other, shop.url))
  await openSignedIn(service, there, demo.reader.email)
  await there.pay.click()
  await there.open.waitFor()
  expect(await heardBy(other)).toHaveLength(6)
})

test('a reader who leaves the page between payment and session does not pay twice', async () => {
  const service = await host()
  const { url } = await site(shopHtml(service))
  const page = await newPage()
  const shown = parts(await visit(page, url))
  await openSignedIn(service, shown, demo.payer.email)
  const asked = page.waitForRequest(pageSession)
  let held = false
  await page.route(pageSession, (route) => {
    if (held) return route.continue()
    held = true
  })
  await shown.pay.click()
  await asked
  await visit(page, url)
  await shown.open.click()
  await shown.pay.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(6)
  const { body } = await service.call('GET', '/_sandbox/ledger')
  expect(body.movements).toBe(
    (demo.seed.users?.length ?? 0) + (demo.seed.wallets ?? []).filter(({ balance }) => balance).length + 1,
  )
})

test('a reader with a device is signed in automatically after the device approves', async () => {
  const { service, page, shown } = await opened()
  const { call } = service
  const session = await newSession(call, 'ada@example.test')
  await registerDevice(call, { session })
  await shown.open.click()
  await shown.email.fill('ada@example.test')
  await shown.continue.click()
  await shown.code.waitFor()
  await shown.code.fill(await mailedCode(call, 'ada@example.test'))
  await shown.verify.click()
  await page.frameLocator('iframe').getByText('We sent a request to your device.').waitFor()
  await approveOnPhone(call, 'ada@example.test')
  await page.frameLocator('iframe').getByText('can then request payments from you').waitFor()
})
