import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import type { Call } from '../support/api.js'
import {
  codeFor,
  heardBy,
  journey,
  openSignedIn,
  parts,
  sellerToken,
  shopHtml,
  signIn,
  signInBefore,
  visit,
} from '../support/scenes/journey.js'

const { host, site, page: newPage } = journey()

const newcomer = 'newcomer@example.test'

const sellerBalance = async (call: Call): Promise<number> => {
  const { body } = await call('GET', `/v4/twin/${demo.account.hostname}`, { token: await sellerToken(call) })
  return Object.values(body.balances as Record<string, number>)[0] ?? 0
}

test('a newcomer on another site signs up, has too little, gets funds, pays, and the seller validates once', async () => {
  const service = await host()
  const { call } = service
  const shop = await site(shopHtml(service, { hash: demo.commodities.article }))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  expect(await page.locator('iframe').boundingBox()).toMatchObject({ width: expect.any(Number), height: 48 })
  expect(await shown.open.textContent()).toBe('Pay 0.25 USD')

  await shown.open.click()
  await shown.email.fill(newcomer)
  await shown.continue.click()
  await shown.code.fill(await codeFor(call, shown, newcomer))
  await shown.verify.click()
  await expect.poll(() => shown.balance.textContent()).toBe('BALANCE 0.00 USD')
  await shown.pay.click()
  expect(await shown.alert.textContent()).toContain('Your balance does not cover 0.25 USD')

  // This page has no card to top up with.
  expect(await shown.topUp.isVisible()).toBe(false)
  await shown.fund.click()
  await expect.poll(() => shown.balance.textContent()).toBe('BALANCE 2.00 USD')
  expect(await shown.fund.isVisible()).toBe(false)
  await shown.pay.click()
  await shown.receipt.waitFor()

  const heard = await heardBy(page)
  const { hostname } = heard[0]?.detail ?? { hostname: '' }
  const detail = { hash: demo.commodities.article, hostname, nonce: expect.any(String), timestamp: expect.any(Number) }
  expect(heard.map(({ event }) => event).sort()).toEqual([
    ...['payment on document', 'payment on root', 'payment on window'],
    ...['purchase on document', 'purchase on root', 'purchase on window'],
  ])
  for (const each of heard) expect(each.detail).toEqual(detail)

  const { nonce, timestamp } = heard[0]?.detail ?? {}
  const token = await sellerToken(call)
  const validate = () =>
    call('POST', `/v2/payment/${demo.commodities.article}/validate`, { token, body: { nonce, timestamp } })
  expect((await validate()).status).toBe(200)
  const again = await validate()
  expect([again.status, again.body.code]).toEqual([400, 'nonce_used'])

  expect(await sellerBalance(call)).toBe(0.25)
  expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true, broken: null })
})

test('the frame fills the window while it is open, and then returns to its place', async () => {
  const service = await host()
  // A transformed ancestor would hold a fixed frame in its own box.
  const shop = await site(shopHtml(service).replace('<div id="pay">', '<div id="pay" style="transform:rotate(0deg)">'))
  const page = await newPage({ viewport: { width: 900, height: 700 }, reducedMotion: 'no-preference' })
  const shown = parts(await visit(page, shop.url))
  const frame = page.locator('iframe')
  const place = await frame.boundingBox()
  const after = await page.getByText('After').boundingBox()
  await shown.open.click()
  await shown.email.waitFor()
  expect(await frame.boundingBox()).toEqual({ x: 0, y: 0, width: 900, height: 700 })
  expect(await page.getByText('After').boundingBox()).toEqual(after)
  await shown.cancel.click()
  await shown.open.waitFor()
  expect(await frame.boundingBox()).toEqual(place)
  expect(await page.evaluate('document.documentElement.style.overflow')).toBe('')
})

test('the frame grows with its button when the label needs more room', async () => {
  const service = await host()
  const shop = await site(shopHtml(service, { hash: demo.commodities.song, leading: 'Pay', trailing: 'to hear it' }))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  expect(await shown.open.textContent()).toBe('Pay 0.99 USD to hear it')
  await expect.poll(async () => (await page.locator('iframe').boundingBox())?.width).toBeGreaterThan(160)
  expect((await page.locator('iframe').boundingBox())?.height).toBe(48)
})

test('a reader pays without a mouse', async () => {
  const service = await host()
  const shop = await site(shopHtml(service))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  const focused = () => page.frames()[1]?.evaluate('document.activeElement.textContent || document.activeElement.id')
  await page.getByText('Before').focus()
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Pay 0.25 USD')
  await page.keyboard.press('Enter')
  await shown.email.waitFor()
  expect(await focused()).toBe('email')
  await page.keyboard.type(demo.payer.email)
  await page.keyboard.press('Enter')
  await shown.code.waitFor()
  await page.keyboard.type(demo.payer.code)
  // Tab goes round within the dialog, either way.
  await page.keyboard.press('Shift+Tab')
  expect(await focused()).toBe('the outbox')
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('code')
  await page.keyboard.press('Enter')
  await shown.balance.waitFor()
  await expect.poll(() => shown.pay.isEnabled()).toBe(true)
  expect(await focused()).toBe('Pay')
  await page.keyboard.press('Enter')
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(6)
  expect(await focused()).toBe('Pay 0.25 USD')
  expect(await page.frames()[1]?.getByRole('status').textContent()).toBe('Paid 0.25 USD.')
})

test('Escape closes like Cancel, and neither sends an event', async () => {
  const service = await host()
  const shop = await site(shopHtml(service))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  for (const leave of [() => page.keyboard.press('Escape'), () => shown.cancel.click()]) {
    await shown.open.click()
    await shown.email.waitFor()
    await leave()
    await shown.open.waitFor()
    await shown.dialog.waitFor({ state: 'hidden' })
  }
  expect(await heardBy(page)).toEqual([])
})

test('a reader stays signed in, even after a reload, until they choose not to be', async () => {
  // The frame shows the balance alike in whatever unit the service answers.
  const service = await host(undefined, { balances: 'smallest' })
  const shop = await site(shopHtml(service))
  const page = await newPage()
  await signIn(service, parts(await visit(page, shop.url)), demo.payer.email)
  const frame = await visit(page, shop.url)
  const shown = parts(frame)
  await shown.open.click()
  expect(await shown.balance.textContent()).toBe('BALANCE 20.00 USD')
  expect(await frame.getByText(demo.payer.email).isVisible()).toBe(true)
  await frame.getByRole('button', { name: 'Not you?' }).click()
  expect(await shown.email.inputValue()).toBe('')
  await shown.cancel.click()
  await shown.open.click()
  await shown.email.waitFor()
})

test('two payments in one visit count as two', async () => {
  const service = await host()
  const shop = await site(shopHtml(service))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  await openSignedIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.click()
  await shown.pay.click()
  await shown.open.waitFor()
  const nonces = new Set((await heardBy(page)).map(({ detail }) => detail.nonce))
  expect(nonces.size).toBe(2)
  expect(await sellerBalance(service.call)).toBe(0.5)
})

test('toggle opens and closes, even when called before the frame listens', async () => {
  const service = await host()
  const shop = await site(
    shopHtml(service)
      .replace('await element.mount', 'const there = element.mount')
      .replace('window.mounted = true', 'element.toggle(); await there; window.mounted = true'),
  )
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  await shown.email.waitFor()
  await page.evaluate('element.toggle()')
  await shown.open.waitFor()
  await page.evaluate('element.toggle()')
  await shown.email.waitFor()
  await page.evaluate('element.destroy()')
  expect(await page.locator('iframe').count()).toBe(0)
  expect(await page.evaluate('document.documentElement.style.overflow')).toBe('')
  await page.evaluate(`element.mount(document.querySelector('#pay'))`)
  await shown.open.waitFor()
})

test('the second half of a double click on the closed button does not press Pay', async () => {
  const service = await host()
  const shop = await site(shopHtml(service))
  const page = await newPage({ reducedMotion: 'no-preference' })
  await page.clock.install()
  const shown = parts(await visit(page, shop.url))
  await signInBefore(service, shown, demo.payer.email)
  await page.clock.pauseAt(Date.now() + 60_000)
  const answered = page.waitForResponse('**/v4/session')
  await shown.open.click()
  await shown.dialog.waitFor()
  await (await answered).finished()
  await page.clock.runFor(390)
  expect(await shown.pay.isVisible()).toBe(false)
  await page.clock.runFor(20)
  await shown.balance.waitFor()
  expect(await shown.pay.isVisible()).toBe(true)
  // It works half a second after the browser has told the frame that it is in sight.
  await page.clock.runFor(450)
  expect(await shown.pay.isEnabled()).toBe(false)
  await expect.poll(() => page.clock.runFor(50).then(() => shown.pay.isEnabled())).toBe(true)
})

test('only the element that was paid sends events when a page has two', async () => {
  const service = await host()
  const { article, song } = demo.commodities
  const shop = await site(
    shopHtml(service).replace(
      'window.mounted',
      `await loadMicroPayments('${demo.account.public_secret}').elements().create('payment', { hash: '${song}' }).mount('main')\n  window.mounted`,
    ),
  )
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  await openSignedIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.waitFor()
  // The other frame is of the same service: signed in there, signed in here.
  const other = parts(page.frameLocator(`iframe[src*="${song}"]`))
  await other.open.click()
  await other.pay.click()
  await other.receipt.waitFor()
  const hashes = (await heardBy(page)).map(({ detail }) => detail.hash)
  expect(hashes).toEqual([...Array(6).fill(article), ...Array(6).fill(song)])
})
