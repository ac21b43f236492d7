import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { EVERY_STATE_MS, expectAccessible } from '../support/browser/accessible.js'
import { type Host, journey, parts, signInByCode } from '../support/scenes/journey.js'

const { host, page: newPage } = journey()

const ARTICLE = 'QUOKKA.ARTICLE'
const seed = {
  accounts: [{ name: 'Quokka Press' }],
  users: [{ email: 'mia@example.test', balance: 1 }],
  commodities: [{ account: 'Quokka Press', descriptor: ARTICLE, cost: 0.25 }],
}

const said = (page: Page, text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor()
const visit = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click()

/** Opens the shop in another tab, and signs in with the mailed code. */
async function shopper(page: Page, service: Host, email: string) {
  const tab = await page.context().newPage()
  await tab.goto(`${service.url}/shop`)
  const element = parts(tab.frameLocator('.element iframe'))
  await signInByCode(service, element, email)
  return element
}

test('a day: pay, fix a refusal, move the clock, break it, replay, compare, rewind and approve', {
  timeout: EVERY_STATE_MS,
}, async () => {
  const service = await host(seed)
  const page = await newPage()
  await page.goto(`${service.url}/`)
  await page.getByText('Nothing has happened yet').waitFor()
  await expectAccessible(page, 'the first steps')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await said(page, /^Saved as state-/)
  const [{ name: morning }] = (await service.call('GET', '/_sandbox/snapshots')).body.snapshots

  // A person pays in the shop, in a second tab, and it arrives here.
  const element = await shopper(page, service, 'noa@example.test')
  await element.pay.click()
  await element.alert.waitFor()
  const errors = page.getByRole('region', { name: 'Errors' })
  await errors.getByRole('link', { name: /insufficient_funds ×1/ }).click()
  const error = page.getByRole('region', { name: 'Error', exact: true })
  await error.getByText('0.250 USD is missing.').waitFor()
  await expectAccessible(page, 'an error')
  await error.getByRole('link', { name: /POST/ }).click()
  const request = page.getByRole('region', { name: 'Request' })
  await request.getByRole('button', { name: 'Fix it' }).click()
  await said(page, 'Fixed, and the request went through.')
  await page.getByText('balanced, 1.25 USD issued').waitFor()

  // A day goes by.
  await page.getByRole('button', { name: '+1 d' }).click()
  await said(page, 'The clock is 1d ahead.')

  // The price changes between the quote and the payment.
  await visit(page, 'Break it')
  await page.getByLabel('The price changes before the payment').check()
  await said(page, 'armed')
  const { headers } = (await service.call('POST', '/_sandbox/act-as', { body: { principal: 'user:1' } })).body
  const hash = (await service.call('GET', '/_sandbox/rows/commodities')).body.rows[0].id
  const pay = (cost: number) => service.call('POST', `/v4/payment/${hash}`, { body: { cost }, headers })
  expect((await pay(0.25)).body.code).toBe('price_changed')
  await page.getByText('happened once').waitFor()
  await page.getByRole('button', { name: '1 fault ✕' }).click()
  await said(page, 'No fault is armed.')

  // The refused payment is sent again in a fork.
  await visit(page, 'Live')
  await page.getByRole('link', { name: 'tried to pay (fault) price_changed' }).click()
  await request.getByRole('button', { name: 'Replay in a fork' }).click()
  await request.getByText(/The replay answered/).waitFor()

  // What differs since the morning, and back to it.
  await visit(page, 'States')
  await page.getByRole('link', { name: 'Compare with now' }).click()
  const compared = page.getByRole('region', { name: `From ${morning} to now` })
  await compared.getByRole('row', { name: /\+0\.25 USD/ }).waitFor()
  await compared.getByText('Articles').click()
  await compared.getByText('cost:').waitFor()
  await expectAccessible(page, 'a comparison')
  await page.getByRole('button', { name: 'Rewind', exact: true }).click()
  await said(page, `The state is ${morning} again.`)
  await page.getByText('balanced, 1.00 USD issued').waitFor()

  // A new reader is funded, and pays after approving on the phone.
  await visit(page, 'Data')
  await page.getByRole('button', { name: 'Fund', exact: true }).click()
  await page.getByLabel('Email, or a wallet').fill('zoe@example.test')
  await page.getByRole('dialog').getByRole('button', { name: 'Fund' }).click()
  await said(page, 'Created zoe@example.test, and funded them.')
  await visit(page, 'Inbox')
  const phone = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'zoe@example.test' }) })
  await phone.getByLabel('Answers').selectOption('By hand')
  await said(page, 'The phone is set.')
  const second = await shopper(page, service, 'zoe@example.test')
  await phone.getByRole('button', { name: 'Approve' }).click()
  await said(page, 'Approved.')
  await second.pay.click()
  await visit(page, 'Live')
  await page
    .getByRole('link', { name: `paid 0.25 USD for ${ARTICLE}` })
    .first()
    .waitFor()
})
