import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { article, restOfArticle } from '../../sandbox/shop/article.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { buy, type DemoParts, offlineDemo, signInByPhone, visitDemo } from '../support/browser/offline-demo.js'
import { howMuch } from '../support/how-much.js'
import { journey } from '../support/scenes/journey.js'

const { page: newPage, lasting } = journey()
const offline = offlineDemo()

const rest = restOfArticle[0] as string

/** Of every test that leaves its server up. */
let sandbox: ReturnType<typeof offline.sandbox> | undefined
let isVisited = false

/** The demo as at a first visit, for tests that need no worker of their own. */
async function freshDemo(): Promise<{ page: Page; shown: DemoParts }> {
  const hosted = await (sandbox ??= offline.sandbox())
  const page = await lasting()
  if (isVisited) await page.evaluate(() => fetch('pay/_sandbox/reset', { method: 'POST' }).then(({ ok }) => ok))
  isVisited = true
  const shown = await visitDemo(page, hosted)
  await shown.article.open.waitFor()
  return { page, shown }
}

/** What the demo holds, as its service tells it. */
const snapshotOf = (page: Page): Promise<string> =>
  page.evaluate(async () => (await fetch('pay/_sandbox/snapshot', { cache: 'no-store' })).text())

const fileOf = (text: string, name = 'state.json') => ({
  name,
  mimeType: 'application/json',
  buffer: Buffer.from(text),
})

test('without network and server, a first visitor signs in, pays and reads on, also after a reload', async () => {
  const hosted = await offline.sandbox()
  const page = await newPage()
  const shown = await visitDemo(page, hosted)
  expect(await page.content()).not.toContain(rest)
  await page.context().setOffline(true)
  await hosted.close()
  await page.getByText('The device is offline.').waitFor()

  await page.getByRole('link', { name: 'Song' }).click()
  await signInByPhone(shown, shown.article)
  expect(await shown.article.balance.textContent()).toBe('BALANCE 20.00 USD')
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()
  await page.getByText('Paid and validated: payment 1.').waitFor()

  await shown.walletTab.click()
  await shown.wallet.getByText('19.75 USD').waitFor()
  expect(await shown.records.first().innerText()).toMatch(/^Sent to daily-farthing\s+−0\.25\s+USD/)
  await shown.till.click()
  expect(await shown.tillRecords.innerText()).toMatch(/^Received from wren\s+\+0\.25\s+USD/)

  // Looking again takes nothing of anybody's, not even a token.
  const looked = await snapshotOf(page)
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.waitForTimeout(300)
  expect(await snapshotOf(page)).toBe(looked)

  await page.reload()
  await page.getByText(rest).waitFor()
  expect(await shown.headline.textContent()).toBe(article.headline)
  await buy(shown.song)
  await shown.play.waitFor()
  await shown.play.click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await shown.donation.open.waitFor()
  for (const thanks of ['Thank you for your gift.', 'Thank you for your 2 gifts.']) {
    await buy(shown.donation)
    await page.getByText(thanks).waitFor()
  }
  await shown.walletTab.click()
  await shown.wallet.getByText('17.76 USD').waitFor()
  await page.reload()
  await shown.play.waitFor()
  expect((JSON.parse(await snapshotOf(page)).rows.payments as unknown[]).length).toBe(4)
})

test('reset asks first, and then resets every tab', async () => {
  const { page, shown } = await freshDemo()
  await signInByPhone(shown, shown.article)
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()
  const other = await page.context().newPage()
  const there = await visitDemo(other, { url: page.url() })
  await other.getByText(rest).waitFor()
  await page.bringToFront()

  await shown.reset.click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  expect(await page.getByText(rest).isVisible()).toBe(true)
  await shown.reset.click()
  await shown.resetAll.click()
  await shown.said.getByText('The shop is reset.').waitFor()
  expect(await page.content()).not.toContain(rest)
  expect(await shown.mails.innerText()).toContain('No mail yet')
  await there.article.open.waitFor()
  expect(await other.content()).not.toContain(rest)
  await other.close()

  await shown.article.open.click()
  await shown.article.email.waitFor()
  await shown.article.cancel.click()
  await signInByPhone(shown, shown.article)
  expect(await shown.article.balance.textContent()).toBe('BALANCE 20.00 USD')
})

test('a saved state opens again, byte for byte, with its purchases', async () => {
  const { page, shown } = await freshDemo()
  await signInByPhone(shown, shown.article)
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()

  const before = await snapshotOf(page)
  const [download] = await Promise.all([page.waitForEvent('download'), shown.save.click()])
  expect(download.suggestedFilename()).toMatch(/^daily-farthing-\d{4}-\d\d-\d\d\.json$/)
  const saved = await readFile(await download.path(), 'utf8')
  expect(saved).toBe(before)

  await shown.reset.click()
  await shown.resetAll.click()
  await shown.article.open.waitFor()
  await shown.open.setInputFiles(fileOf(saved))
  await shown.said.getByText('Opened state.json.').waitFor()
  await page.getByText(rest).waitFor()
  expect(await snapshotOf(page)).toBe(saved)
  await buy(shown.song)
  await shown.play.waitFor()
})

test('a snapshot goes from a sandbox in Node into the demo and back, byte for byte', async () => {
  const service = createService({ sandbox: true, seed: demo.seed })
  const node = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  const { users } = await service.sandbox.credentials()
  const { client_id = '', client_secret = '' } = users.find(({ email }) => email === demo.reader.email) ?? {}
  const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
  const token = (await node('POST', '/v4/user/oauth/token', { headers })).body.access_token
  expect((await node('POST', `/v4/payment/${demo.commodities.song}`, { token })).status).toBe(202)
  const taken = (await node('GET', '/_sandbox/snapshot')).text

  const { page, shown } = await freshDemo()
  await shown.open.setInputFiles(fileOf(taken))
  await shown.said.getByText('Opened state.json.').waitFor()
  const inside = await snapshotOf(page)
  expect(inside).toBe(taken)
  await service.sandbox.reset()
  expect((await node('PUT', '/_sandbox/snapshot', { body: JSON.parse(inside) })).status).toBe(204)
  expect((await node('GET', '/_sandbox/snapshot')).text).toBe(taken)
  await service.close()

  await shown.walletTab.click()
  await shown.wallet.getByText('19.01 USD').waitFor()
})

test('a wrong or invalid payment brings nothing, and the page says why', async () => {
  const { page, shown } = await freshDemo()
  await page.evaluate((hash) => {
    const detail = { hash, hostname: 'wren.twin.localhost', nonce: 'made up', timestamp: 1 }
    document.dispatchEvent(new CustomEvent('payment', { detail }))
  }, demo.commodities.article)
  await page.getByRole('alert').getByText('The payment is not valid.').waitFor()
  await shown.article.open.waitFor()
  expect(await page.content()).not.toContain(rest)
})

test('an invalid file is refused and changes nothing; the page reports a state without the shop', async () => {
  const { page, shown } = await freshDemo()
  const before = await snapshotOf(page)
  const refusals = [
    ['[1,', 'It is not JSON.'],
    ['{"counters":{}}', 'rows'],
    ['{"counters":{},"rows":{"users":[{"id":1},{"id":1}]}}', 'Row 1 of users: another row has this id'],
  ] as const
  for (const [text, why] of howMuch<readonly (readonly [string, string])[]>(refusals.slice(2), refusals)) {
    await shown.open.setInputFiles(fileOf(text, 'holiday.json'))
    await expect.poll(() => shown.refused.textContent()).toContain(why)
    expect(await shown.refused.textContent()).toContain('Could not open holiday.json. Nothing changed.')
  }
  expect(await snapshotOf(page)).toBe(before)
  await shown.article.open.waitFor()

  const other = createService({ sandbox: true, seed: { accounts: [{ name: 'Other' }] } })
  await shown.open.setInputFiles(fileOf(JSON.stringify(await other.sandbox.snapshot())))
  await other.close()
  await page.getByRole('heading', { name: 'This state has no shop' }).waitFor()
  await shown.walletTab.click()
  await shown.wallet.getByText('This state does not have this wallet.').waitFor()
  await page.getByRole('main').getByRole('button', { name: 'Reset' }).click()
  await shown.resetAll.click()
  await shown.said.getByText('The shop is reset.').waitFor()
  await shown.article.open.waitFor()
  expect(await shown.refused.count()).toBe(0)
})
