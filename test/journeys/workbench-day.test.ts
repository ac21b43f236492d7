import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { EVERY_STATE_MS, expectAccessible, expectAccessibleToo } from '../support/browser/accessible.js'
import { type Host, journey, parts, signInByCode } from '../support/scenes/journey.js'
import { ARTICLE, said, seed, visit } from '../support/scenes/workbench.js'

const { host, page: newPage } = journey()

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
  await expectAccessibleToo(page, 'the first steps')
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
  await error.getByText('0.25 USD is missing.').waitFor()
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
  await phone.getByText(/^sign in: /).waitFor()
  await phone.getByRole('button', { name: 'Approve' }).click()
  await said(page, 'Approved.')
  await second.pay.click()
  await visit(page, 'Live')
  await page
    .getByRole('link', { name: `paid 0.25 USD for ${ARTICLE}` })
    .first()
    .waitFor()
})

test('the same failure is one error, and opens to its requests', async () => {
  const service = await host(seed)
  const page = await newPage()
  const { headers } = (await service.call('POST', '/_sandbox/act-as', { body: { principal: 'user:1' } })).body
  const [{ id: hash }] = (await service.call('GET', '/_sandbox/rows/commodities')).body.rows
  for (let n = 0; n < 3; n++) await service.call('POST', `/v4/payment/${hash}`, { headers, body: { cost: 9 } })
  await service.call('GET', '/v4/twins')
  await page.goto(`${service.url}/`)
  const errors = page.getByRole('region', { name: 'Errors' })
  await errors.getByRole('link', { name: /authorization_missing ×1 listTwins · a guest/ }).waitFor()
  await errors.getByRole('link', { name: /price_changed ×3 createPayment · mia@example.test/ }).click()
  const error = page.getByRole('region', { name: 'Error', exact: true })
  await error.getByRole('note').waitFor()
  await error.getByText(/^first /).waitFor()
  expect(await error.getByRole('row', { name: /POST/ }).count()).toBe(3)
  await page.reload()
  await error.getByRole('note').waitFor()
  await error.getByRole('link', { name: 'Close the error' }).click()
  await errors.waitFor()
})

test('what somebody owns is changed and revoked by hand', async () => {
  const service = await host(seed)
  const page = await newPage()
  const act = async (principal: string) =>
    (await service.call('POST', '/_sandbox/act-as', { body: { principal } })).body.headers
  const account = await act('account:1')
  const rows = async (name: string) => (await service.call('GET', `/_sandbox/rows/${name}`)).body.rows
  await page.goto(`${service.url}/#/data/commodities`)
  await page.getByRole('link', { name: ARTICLE }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Price').fill('0.5')
  // What happens meanwhile undoes nothing that is typed.
  await service.call('POST', '/_sandbox/fund', { body: { email: 'mia@example.test', amount: 7 } })
  await page.getByText('balanced, 8.00 USD issued').waitFor()
  expect(await page.getByLabel('Price').inputValue()).toBe('0.5')
  await page.getByRole('button', { name: 'Save', exact: true }).last().click()
  await said(page, 'Changed.')
  await page.getByText('0.50 USD').waitFor()
  expect(await rows('commodities')).toMatchObject([{ descriptor: ARTICLE, cost: '500' }])

  await service.call('POST', '/_sandbox/sign-in', { body: { email: 'mia@example.test' } })
  const [{ id: session }] = await rows('sessions')
  await page.goto(`${service.url}/#/data/sessions/${session}`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await said(page, 'Signed out')
  expect((await rows('sessions')).map(({ id }: { id: number }) => id)).not.toContain(session)

  const [twin] = (await service.call('GET', '/v4/twins', { headers: account })).body.twins
  const persona = { name: 'Editors', description: 'Those who edit', twin_id: twin.id }
  const { hash } = (await service.call('POST', '/v4/persona', { headers: account, body: persona })).body
  const [mia] = (await rows('twins')).filter(({ owner }: { owner: string }) => owner === 'user:1')
  const holder = { hostname: mia.hostname, name: 'Mia' }
  expect((await service.call('POST', `/v4/persona/${hash}/delegate`, { headers: account, body: holder })).status).toBe(
    201,
  )
  await page.goto(`${service.url}/#/data/personas/${hash}`)
  await page.getByRole('button', { name: 'Revoke' }).click()
  await said(page, 'Revoked.')
  await page.getByText('revoked', { exact: true }).waitFor()
})

test('a webhook shows its deliveries, and sends one again', async () => {
  const service = await host(seed)
  const page = await newPage()
  const { headers } = (await service.call('POST', '/_sandbox/act-as', { body: { principal: 'account:1' } })).body
  const fault = { match: { port: 'webhook' }, at: 'before', do: { status: 500 }, times: 1 }
  await service.call('POST', '/_sandbox/faults', { body: fault })
  await service.call('POST', '/_sandbox/faults', { body: { ...fault, do: { status: 200 } } })
  const body = { url: 'https://hooks.example.test/farthing', events: ['webhook.test'] }
  const { id } = (await service.call('POST', '/v4/webhooks', { headers, body })).body
  await page.goto(`${service.url}/#/data/webhooks/${id}`)
  await page.getByRole('button', { name: 'Send a test' }).click()
  const delivery = page.getByRole('row', { name: /webhook\.test/ })
  await delivery.getByText('failed').waitFor()
  await delivery.getByRole('button', { name: 'Resend' }).click()
  await delivery.getByText('succeeded').waitFor()
  await delivery.getByText('500, 200').waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('This row is not there').waitFor()
})

test('the clock shows what is due next, and goes there', async () => {
  const service = await host(seed)
  const page = await newPage()
  await service.call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  await page.goto(`${service.url}/`)
  const { headers } = (await service.call('POST', '/_sandbox/act-as', { body: { principal: 'user:1' } })).body
  const invitation = { address: 'newcomer@example.test', amount: 0.5 }
  expect((await service.call('POST', '/v4/transfer', { headers, body: invitation })).status).toBeLessThan(300)
  await page.getByRole('button', { name: /^Next: transfer expires/ }).click()
  await said(page, 'Done: transfer expires.')
  await page.getByRole('button', { name: /^Next: transfer/ }).waitFor({ state: 'detached' })
})
