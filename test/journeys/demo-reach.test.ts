import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { restOfArticle } from '../../sandbox/shop/article.js'
import { EVERY_STATE_MS, expectAccessible } from '../support/browser/accessible.js'
import { offlineDemo, signInByPhone, visitDemo } from '../support/browser/offline-demo.js'
import { isWhole } from '../support/how-much.js'
import { journey } from '../support/scenes/journey.js'

const { page: newPage } = journey()
const offline = offlineDemo()

const rest = restOfArticle[0] as string

test('axe finds nothing serious in any state of the demo', {
  timeout: EVERY_STATE_MS,
}, async () => {
  const page = await newPage({ reducedMotion: 'reduce' })
  const shown = await visitDemo(page, await offline.sandbox())
  if (isWhole) await expectAccessible(page, 'at first', { narrow: 360 })
  await signInByPhone(shown, shown.article)
  await expectAccessible(page, 'paying, with mail', { narrow: 360 })
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()
  await shown.walletTab.click()
  await shown.wallet.getByText('19.75 USD').waitFor()
  await shown.till.click()
  await shown.tillRecords.first().waitFor()
  await expectAccessible(page, 'bought', { narrow: 360 })
  await shown.reset.click()
  await expectAccessible(page, 'asked before a reset', { narrow: 360 })
  if (!isWhole) return
  await page.getByRole('button', { name: 'Cancel' }).click()
  await shown.open.setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('?') })
  await shown.refused.waitFor()
  await expectAccessible(page, 'refused', { narrow: 360 })
  const nothing = JSON.stringify({ counters: {}, rows: { digital_quantities: [] } })
  await shown.open.setInputFiles({ name: 'y.json', mimeType: 'application/json', buffer: Buffer.from(nothing) })
  await shown.said.waitFor()
  await expectAccessible(page, 'opened', { narrow: 360 })
})

test('a narrow screen shows the code over an open payment until it is paid', async () => {
  const page = await newPage({ viewport: { width: 360, height: 740 } })
  const shown = await visitDemo(page, await offline.sandbox())
  await shown.article.open.click()
  await shown.article.email.fill(demo.reader.email)
  await shown.article.continue.click()
  const told = page.getByRole('status').filter({ hasText: "Mail on Wren's phone" })
  await told.getByText(/^\d{6}$/).waitFor()
  const code = (await told.getByText(/^\d{6}$/).textContent()) as string
  expect(code).toBe(await shown.code.textContent())
  // Nothing lies above it.
  const above = await told.getByText(/^\d{6}$/).evaluate((digits) => {
    const { x, y, width, height } = digits.getBoundingClientRect()
    return document.elementFromPoint(x + width / 2, y + height / 2) === digits
  })
  expect(above).toBe(true)
  await shown.article.code.fill(code)
  await shown.article.verify.click()
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()
  expect(await told.isVisible()).toBe(false)
})
