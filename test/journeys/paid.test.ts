import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { howMuch } from '../support/how-much.js'
import {
  elementHtml,
  type Host,
  heardBy,
  journey,
  openSignedIn,
  parts,
  shopHtml,
  visit,
} from '../support/scenes/journey.js'

/** What an element shows and sells after a payment, and how it changes. */

const { host, site, page: newPage } = journey()
const { article, song } = demo.commodities
const once = { hash: article }

/** A shop that listens for `paid` too, and a reader who has paid for the article. */
async function bought() {
  const service = await host()
  const shop = await site(elementHtml(service, { options: once, events: ['payment', 'paid'] }))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  await openSignedIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.receipt.waitFor()
  return { service, shop, page, shown }
}

const payments = async ({ call }: Pick<Host, 'call'>): Promise<number> =>
  (await call('GET', '/_sandbox/rows/payments')).body.rows.length

const createdIn = (page: Page, options: object) =>
  page.evaluate(
    `loadMicroPayments('${demo.account.public_secret}').elements().create('payment', ${JSON.stringify(options)}).mount('main')`,
  )

test('the element shows what was paid, and tells its page', async () => {
  const { page, shown } = await bought()
  expect(await shown.receipt.innerText()).toBe('Paid 0.25 USD\nNEWS.ARTICLE, payment 1')
  expect(await shown.open.isVisible()).toBe(false)
  expect(await page.frames()[1]?.evaluate('document.activeElement.id')).toBe('receipt')
  await expect.poll(async () => (await heardBy(page)).map(({ event }) => event)).toContain('paid on document')
  const heard = await heardBy(page)
  // The payment comes first: a page may remove its element then.
  expect(heard[0]?.event).toMatch(/^payment /)
  const told = heard.find(({ event }) => event === 'paid on document')?.detail
  expect(told).toEqual({
    ...heard[0]?.detail,
    ...{ payment_id: 1, price: '0.25 USD', descriptor: 'NEWS.ARTICLE' },
  })
  expect(await page.evaluate('element.paid')).toEqual(told)
  await page.evaluate('element.toggle()')
  await page.waitForTimeout(500)
  expect(await shown.dialog.isVisible()).toBe(false)
})

test('a reload, a remount and a second element do not sell the same again', async () => {
  const { service, shop, page } = await bought()
  const again = parts(await visit(page, shop.url))
  await again.receipt.waitFor()
  expect(await again.open.isVisible()).toBe(false)
  await expect
    .poll(async () => (await heardBy(page)).map(({ event }) => event))
    .toEqual([...['paid on root', 'paid on document', 'paid on window']])
  await page.evaluate(`(element.destroy(), element.mount('#pay'))`)
  await again.receipt.waitFor()
  await createdIn(page, once)
  const second = parts(page.frameLocator('main > div:last-child > iframe'))
  await second.receipt.waitFor()
  expect(await payments(service)).toBe(1)
})

test('two elements for the same show at once that it is paid', async () => {
  const service = await host()
  const shop = await site(shopHtml(service, once))
  const page = await newPage()
  const shown = parts(await visit(page, shop.url))
  await createdIn(page, once)
  const second = parts(page.frameLocator('main > div:last-child > iframe'))
  await second.open.waitFor()
  await openSignedIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await second.receipt.waitFor()
  expect(await payments(service)).toBe(1)
})

test('neither what another page sold nor what the service does not know is shown as paid', async () => {
  const { service, shop, page } = await bought()
  // What is paid is known to the origin that sold it.
  const other = await site(shopHtml(service, once))
  await parts(await visit(page, other.url)).open.waitFor()
  await service.call('POST', '/_sandbox/reset')
  const shown = parts(await visit(page, shop.url))
  await shown.open.waitFor()
  expect(await shown.receipt.isVisible()).toBe(false)
  expect(await page.evaluate('element.paid')).toBeUndefined()
})

test('update changes a mounted element, once its dialog is closed', async () => {
  const service = await host()
  const page = await newPage()
  const shown = parts(await visit(page, (await site(shopHtml(service))).url), /USD/)
  await page.evaluate(`element.update({ leading: 'Read on for' })`)
  expect(await shown.open.textContent()).toBe('Read on for 0.25 USD')
  await shown.open.click()
  await shown.email.waitFor()
  await page.evaluate(
    `void (window.updated = element.update({ hash: '${song}', leading: 'Hear it for' }).then(() => 'done'))`,
  )
  await page.waitForTimeout(300)
  expect(await shown.email.isVisible()).toBe(true)
  await shown.cancel.click()
  expect(await page.evaluate('window.updated')).toBe('done')
  expect(await shown.open.textContent()).toBe('Hear it for 0.99 USD')
  expect(await page.locator('iframe').count()).toBe(1)
  await page.evaluate('element.destroy()')
  await page.evaluate(`element.update({ leading: 'Once more for' })`)
  expect(await page.locator('iframe').count()).toBe(0)
  await page.evaluate(`element.mount('#pay')`)
  expect(await shown.open.textContent()).toBe('Once more for 0.99 USD')
})

/** A page whose own card processor gives a payment method, and a newcomer who has nothing. */
async function topUpAt(topUp: string) {
  const service = await host()
  const html = shopHtml(service, once).replace(
    `{"hash":"${article}"}`,
    `{ hash: '${article}', topUp: async (order) => { heard.push(order); ${topUp} } }`,
  )
  const page = await newPage()
  const shown = parts(await visit(page, (await site(html)).url))
  await openSignedIn(service, shown, 'newcomer@example.test')
  await shown.topUp.waitFor()
  return { service, page, shown }
}

test('a payer tops up by a card of the page, inside the frame, and pays', async () => {
  const { service, page, shown } = await topUpAt(`return 'pm_card_visa'`)
  expect(await shown.topUp.textContent()).toBe('Top up 1.00 USD by card')
  await shown.topUp.click()
  await expect.poll(() => shown.balance.textContent()).toBe('BALANCE 1.00 USD')
  expect(await page.evaluate('heard')).toEqual([{ amount: 1, shortcode: 'USD' }])
  await shown.pay.click()
  await shown.receipt.waitFor()
  const { messages } = (await service.call('GET', '/_sandbox/outbox?kind=card')).body
  expect(messages).toHaveLength(1)
})

/** What the page has no card for, and what it has one for that gives nothing. */
const given: [string, string, string][] = [
  ['declines', `return 'pm_card_chargeDeclined'`, 'declined'],
  ['the page fails to get', `throw new Error('closed')`, 'The page gave no card. Try again.'],
]
const alsoGiven: typeof given = [['is not given', 'return undefined', 'The page gave no card. Try again.']]

test.each(howMuch(given, [...given, ...alsoGiven]))(
  'a card that %s tops up nothing, and the frame says so',
  async (_, topUp, sentence) => {
    const { shown } = await topUpAt(topUp)
    await shown.topUp.click()
    await expect.poll(() => shown.alert.textContent()).toContain(sentence)
    expect(await shown.balance.textContent()).toBe('BALANCE 0.00 USD')
  },
)

test('a payer who waits for no card can cancel, and start again', async () => {
  const { shown } = await topUpAt('return new Promise(() => {})')
  await shown.topUp.click()
  await shown.cancel.click()
  await shown.open.click()
  await shown.fund.click()
  await expect.poll(() => shown.balance.textContent()).toBe('BALANCE 2.00 USD')
})
