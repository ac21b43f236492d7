import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import {
  elementHtml,
  type Host,
  heardBy,
  journey,
  newPayback,
  openWithSession,
  parts,
  sellerToken,
  signInByCode,
  visit,
} from '../support/scenes/journey.js'

const { host, site, page: newPage } = journey()

const consent = ['You may write to me.', { title: 'Newsletter', text: 'Once a week, <b>until</b> I say no.' }]

const sentTexts = ['You may write to me.', 'Newsletter\nOnce a week, <b>until</b> I say no.']

/** A page of another origin that pays for consent, with the demo's account as its seller. */
async function opened({ asks = consent, balance = 5 }: { asks?: unknown; balance?: number } = {}) {
  const service = await host()
  const token = await sellerToken(service.call)
  const commodity = await newPayback(service.call, { balance })
  const options = { hash: commodity.hash, consent: asks }
  const shop = await site(elementHtml(service, { type: 'payback', options, events: ['payback', 'payment'] }))
  const page = await newPage()
  const frame = await visit(page, shop.url)
  const shown = parts(frame, /^Get 0\.25 USD$/)
  return { service, token, commodity, page, frame, shown, origin: new URL(shop.url).origin }
}

const balanceOf = async ({ call }: Host, hostname: string, token: string): Promise<number> =>
  Object.values((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances as Record<string, number>)[0] ?? 0

test('a reader consents and is paid once, and the seller validates the payment', async () => {
  const { service, token, commodity, page, frame, shown, origin } = await opened()
  const asked = page.waitForRequest('**/v4/payback/*')
  await signInByCode(service, shown, demo.payer.email)
  await shown.allow.waitFor()
  expect(await frame.getByRole('heading').textContent()).toBe(demo.account.name)
  expect(await frame.getByText('NEWS.CONSENT').isVisible()).toBe(true)
  expect(await frame.getByText('You get 0.25 USD').isVisible()).toBe(true)
  expect(await frame.getByRole('listitem').allTextContents()).toEqual(sentTexts)
  await shown.allow.click()
  await shown.open.waitFor()
  expect(await shown.done.textContent()).toBe('You got 0.25 USD.')
  expect((await asked).postDataJSON()).toEqual({
    consent: sentTexts,
    origin,
    cost: 0.25,
    dq: expect.any(String),
  })

  const heard = await heardBy(page)
  expect(heard.map(({ event }) => event).sort()).toEqual([
    'payback on document',
    'payback on root',
    'payback on window',
  ])
  const { hash } = commodity
  const detail = { hash, hostname: demo.payer.hostname, nonce: expect.any(String), timestamp: expect.any(Number) }
  for (const each of heard) expect(each.detail).toEqual(detail)
  const { nonce, timestamp } = heard[0]?.detail ?? {}
  const validated = await service.call('POST', `/v4/payment/${hash}/validate`, { token, body: { nonce, timestamp } })
  expect([validated.status, validated.body.payment.kind]).toEqual([200, 'payback'])
  expect(await balanceOf(service, commodity.hostname, token)).toBe(4.75)
  const { events } = (await service.call('GET', '/v4/events?type=payment.created', { token })).body
  expect(events[0].data).toMatchObject({ consent: sentTexts, origin, payee_hostname: demo.payer.hostname })

  await shown.open.click()
  await shown.allow.click()
  expect(await shown.alert.textContent()).toBe('You already got this. Everybody gets it once.')
  expect(await balanceOf(service, commodity.hostname, token)).toBe(4.75)
  expect(await heardBy(page)).toHaveLength(3)
  expect((await service.call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true, broken: null })
})

test('the page reports a sender without enough funds, and a retry pays once there is enough', async () => {
  const { service, commodity, page, shown } = await opened({ balance: 0.1 })
  await openWithSession(service, shown, demo.payer.email)
  await shown.allow.click()
  expect(await shown.alert.textContent()).toBe('The sender cannot pay 0.25 USD at the moment. Try again later.')
  await service.call('POST', '/_sandbox/fund', { body: { hostname: commodity.hostname, amount: 1 } })
  await shown.allow.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(3)
})

test('the page asks again for a lost answer, and the payback pays once', async () => {
  const { service, token, commodity, page, shown } = await opened()
  await openWithSession(service, shown, demo.payer.email)
  await page.route('**/v4/payback/*', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await shown.allow.click()
  expect(await shown.alert.textContent()).toBe(
    'Cannot reach the payment service. Check your connection and try again. If you try again, you do not get it twice.',
  )
  await page.unroute('**/v4/payback/*')
  await shown.allow.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(3)
  expect(await balanceOf(service, commodity.hostname, token)).toBe(4.75)
})

test('a reader consents without a mouse, and scrolls a long list by keyboard', async () => {
  const asks = Array.from({ length: 20 }, (_, n) => ({ title: `Text ${n}`, text: 'Much is asked here. '.repeat(20) }))
  const { service, page, frame, shown } = await opened({ asks })
  const focused = () => page.frames()[1]?.evaluate('document.activeElement.id || document.activeElement.textContent')
  await openWithSession(service, shown, demo.payer.email)
  await shown.allow.waitFor()
  await expect.poll(focused).toBe('Allow')
  await expect.poll(() => shown.allow.isEnabled()).toBe(true)
  expect(await shown.allow.evaluate((button) => button.getBoundingClientRect().bottom <= innerHeight)).toBe(true)
  // Not you?, the list, Cancel, Allow.
  for (const stop of ['Cancel', 'consent', 'sign-out', 'Allow']) {
    await page.keyboard.press('Shift+Tab')
    expect(await focused()).toBe(stop)
  }
  await frame.locator('#consent').focus()
  await page.keyboard.press('End')
  await expect.poll(() => frame.locator('#consent').evaluate((list) => list.scrollTop)).toBeGreaterThan(100)
  await shown.allow.focus()
  await page.keyboard.press('Enter')
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(3)
})

test('Cancel consents to nothing', async () => {
  const { service, page, shown } = await opened()
  await openWithSession(service, shown, demo.payer.email)
  await shown.allow.waitFor()
  await shown.cancel.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toEqual([])
  const { body } = await service.call('GET', '/_sandbox/ledger')
  expect(body.movements).toBe(
    (demo.seed.users?.length ?? 0) + (demo.seed.wallets ?? []).filter(({ balance }) => balance).length + 1,
  )
})

test('the payback element reads its commodity and starts wider', async () => {
  const { service, commodity, page } = await opened()
  const { pathname, searchParams } = new URL((await page.locator('iframe').getAttribute('src')) as string)
  expect(pathname).toBe(`/v3/payback/embed/${commodity.hash}`)
  expect(JSON.parse(searchParams.get('consent') as string)).toEqual(consent)
  expect(await page.locator('iframe').getAttribute('title')).toBe('Payback: NEWS.CONSENT')
  expect(await page.locator('iframe').boundingBox()).toMatchObject({ width: 171, height: 48 })
  // What pays its readers is not for sale.
  await page.goto(`${service.url}/v4/embed/${commodity.hash}`)
  await page.getByText('This is not for sale. It pays its users.').waitFor()
  await page.goto(`${service.url}/v4/payback/embed/${demo.commodities.article}`)
  await page.getByText('This is for sale. It does not pay its users.').waitFor()
})
