import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { EVERY_STATE_MS, expectAccessible, expectAccessibleToo } from '../support/browser/accessible.js'
import {
  codeFor,
  elementHtml,
  journey,
  newPayback,
  openSignedIn,
  openWithSession,
  parts,
  shopHtml,
  visit,
} from '../support/scenes/journey.js'

const { host, site, page: newPage } = journey()

test('axe finds nothing serious in any step of a payment', { timeout: EVERY_STATE_MS }, async () => {
  const service = await host()
  const page = await newPage()
  const shown = parts(await visit(page, (await site(shopHtml(service))).url))
  await expectAccessible(page, 'closed')
  await shown.open.click()
  await shown.email.waitFor()
  await expectAccessible(page, 'email')
  await shown.continue.click()
  await shown.alert.waitFor()
  await expectAccessibleToo(page, 'alert')
  await shown.email.fill('newcomer@example.test')
  await shown.continue.click()
  await shown.code.fill(await codeFor(service.call, shown, 'newcomer@example.test'))
  await expectAccessibleToo(page, 'code')
  await shown.verify.click()
  await shown.balance.waitFor()
  await shown.pay.click()
  await shown.alert.waitFor()
  await expectAccessible(page, 'insufficient funds')
})

test('axe finds nothing serious in any step of a payback', { timeout: EVERY_STATE_MS }, async () => {
  const service = await host()
  const page = await newPage()
  const { hash } = await newPayback(service.call, { balance: 0.1 })
  const text = 'What is read here may be told to others. '.repeat(12)
  const consent = ['You may write to me.', { title: 'Newsletter', text }, { title: 'Others', text }]
  const shop = await site(elementHtml(service, { type: 'payback', options: { hash, consent } }))
  const shown = parts(await visit(page, shop.url), /^Get/)
  await expectAccessible(page, 'closed')
  await openWithSession(service, shown, demo.payer.email)
  await shown.allow.waitFor()
  await expectAccessible(page, 'consent')
  await shown.allow.click()
  await shown.alert.waitFor()
  await expectAccessibleToo(page, 'refused')
  await page.goto(`${service.url}/v4/payback/embed/${demo.commodities.article}`)
  await expectAccessibleToo(page, 'what pays nobody')
})

test('axe finds nothing serious in the pages of the sandbox', { timeout: EVERY_STATE_MS }, async () => {
  const service = await host()
  const page = await newPage()
  await page.goto(`${service.url}/shop`)
  const shown = parts(page.frameLocator('#pay iframe'))
  await openSignedIn(service, shown, demo.payer.email)
  await expectAccessible(page, 'shop, paying')
  await shown.pay.click()
  await page.getByText('Paid and validated').waitFor()
  await expectAccessibleToo(page, 'shop, unlocked')
  await page.goto(`${service.url}/shop`)
  // The reader has paid, so the rest of the article comes back.
  await page.locator('#rest p').first().waitFor()
  await expectAccessibleToo(page, '/shop')
  await page.goto(`${service.url}/v4/embed/unknown`)
  await expectAccessible(page, '/v4/embed/unknown')
})

test('nothing moves for readers who prefer reduced motion', async () => {
  const service = await host()
  const page = await newPage({ reducedMotion: 'reduce' })
  const shown = parts(await visit(page, (await site(shopHtml(service))).url))
  await shown.open.click()
  expect(await shown.dialog.evaluate((dialog) => getComputedStyle(dialog).animationName)).toBe('none')
})
