import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { EVERY_STATE_MS, expectAccessible, expectAccessibleToo } from '../support/browser/accessible.js'
import { newConnection, tabTo, untilFocused } from '../support/browser/oidc-pages.js'
import { type Host, journey } from '../support/scenes/journey.js'
import { advance } from '../support/scenes/market.js'
import { exchangeCode } from '../support/scenes/oidc.js'
import { ask, poll } from '../support/scenes/second-factor.js'
import { newSession } from '../support/scenes/world.js'

const { host, site, page: newPage } = journey()

const { email } = demo.payer

const onPhone = (phone: Page) => ({
  button: (name: string) => phone.getByRole('button', { name, exact: true }),
  push: phone.getByRole('list', { name: 'Waiting for an answer' }).getByRole('listitem'),
  mail: phone.getByRole('list', { name: 'Mail' }).getByRole('listitem'),
  status: (text: string) => phone.getByRole('status').filter({ hasText: text }),
  quiet: phone.getByText('No requests to answer.'),
})

/** Presses a button that Tab comes to. */
async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).first().waitFor()
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** A sandbox, and the payer's phone in a tab of its own, connected. */
async function connectedPhone(service: Host): Promise<Page> {
  const phone = await newPage()
  await phone.goto(`${service.url}/#/connect`)
  await phone.getByRole('link', { name: "The payer's phone" }).waitFor()
  await tabTo(phone, "The payer's phone")
  await phone.keyboard.press('Enter')
  await press(phone, 'Connect this phone')
  await onPhone(phone).status('Connected.').waitFor()
  await onPhone(phone).quiet.waitFor()
  return phone
}

/** The payer signs in to connect an app, in another tab, up to where their phone is waited for. */
async function askedOnPhone() {
  const service = await host()
  const { url: callback } = await site('<!doctype html><title>The app</title><h1>Back in the app</h1>')
  const { app, address } = await newConnection(service.call, service.url, callback)
  const phone = await connectedPhone(service)
  const page = await phone.context().newPage()
  await page.goto(address)
  await untilFocused(page.getByRole('textbox', { name: 'Email' }))
  await page.keyboard.type(email)
  await press(page, 'Continue')
  await untilFocused(page.getByRole('textbox', { name: 'Code' }))
  await onPhone(phone).status('A code arrived').waitFor()
  const [code] = /\d{6}/.exec(await onPhone(phone).mail.first().innerText()) as RegExpExecArray
  await page.keyboard.type(code)
  await press(page, 'Verify')
  await page.getByRole('heading', { name: 'Approve on your device' }).waitFor()
  await onPhone(phone).status('A request arrived').waitFor()
  const asked = await onPhone(phone).push.innerText()
  for (const told of ['Sign-in', 'App: “Errand Runner”', 'Answer goes to: this computer']) expect(asked).toContain(told)
  return { ...service, app, callback, phone, page }
}

/** What the app's address came with once the sign-in was over. */
async function landed(page: Page): Promise<URLSearchParams> {
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor()
  return new URL(page.url()).searchParams
}

test('the phone approves a request by keyboard: the sign-in continues to consent and a working code', async () => {
  const { call, app, callback, phone, page } = await askedOnPhone()
  await press(phone, 'Approve')
  await onPhone(phone).status('Approved.').waitFor()
  await onPhone(phone).quiet.waitFor()
  expect(await phone.evaluate('document.activeElement.ariaLabel')).toBe('Screen')

  await press(page, 'Allow')
  const code = (await landed(page)).get('code') as string
  const { status, body } = await exchangeCode(call, app, code, { redirect_uri: callback })
  expect([status, body.token_type]).toEqual([200, 'Bearer'])
})

test('the phone rejects a request by keyboard: the app gets access_denied', async () => {
  const { phone, page } = await askedOnPhone()
  await press(phone, 'Reject')
  await onPhone(phone).status('Rejected.').waitFor()
  const told = await landed(page)
  expect([told.get('error'), told.get('code')]).toEqual(['access_denied', null])
})

test('an expired request disappears from the phone, and the waiting page says so and starts again', async () => {
  const { call, phone, page } = await askedOnPhone()
  await advance(call, '3m')
  await onPhone(phone).status('A request no longer waits for an answer.').waitFor()
  expect(await onPhone(phone).push.count()).toBe(0)
  await page.getByRole('alert').getByText('The code has expired').waitFor()
  await page.getByRole('textbox', { name: 'Email' }).waitFor()
})

test('the phone answers the request whose button is pressed', async () => {
  const { call, ...service } = await host()
  const phone = await connectedPhone({ call, ...service })
  const session = await newSession(call, email)
  const first = (await ask(call, { session }, { detail: { payee: 'The first' } })).body
  const second = (await ask(call, { session }, { detail: { payee: 'The second' } })).body
  await onPhone(phone).push.nth(1).waitFor()
  expect(await onPhone(phone).push.first().innerText()).toContain('The second')
  await press(phone, 'Approve')
  await onPhone(phone).push.nth(1).waitFor({ state: 'detached' })
  expect(await onPhone(phone).push.innerText()).toContain('The first')
  const statusOf = async (id: number) => (await poll(call, { session }, id)).body.status
  expect([await statusOf(first.id), await statusOf(second.id)]).toEqual(['pending', 'approved'])
})

test('opening the phone does not connect it', async () => {
  const { url, call } = await host()
  const phone = await newPage()
  await phone.goto(`${url}/phone`)
  await onPhone(phone).button('Connect this phone').waitFor()
  await onPhone(phone).mail.filter({ hasText: 'No mail yet' }).waitFor()
  const { rows } = (await call('GET', '/_sandbox/snapshot')).body
  expect(rows.devices ?? []).toEqual([])
})

test('there is no phone without the demo', async () => {
  const { url } = await host({})
  const phone = await newPage()
  await phone.goto(`${url}/phone`)
  await phone.getByRole('heading', { name: 'Phones' }).waitFor()
})

test('axe finds nothing serious on the phone', { timeout: EVERY_STATE_MS }, async () => {
  const { url, call } = await host()
  const phone = await newPage()
  await phone.goto(`${url}/phone`)
  await onPhone(phone).button('Connect this phone').waitFor()
  await expectAccessibleToo(phone, 'not connected', { narrow: 360 })
  await onPhone(phone).button('Connect this phone').click()
  await onPhone(phone).quiet.waitFor()
  await expectAccessibleToo(phone, 'quiet', { narrow: 360 })
  const session = await newSession(call, email)
  await ask(call, { session })
  await onPhone(phone).button('Approve').waitFor()
  await expectAccessible(phone, 'asked', { narrow: 360 })
  await phone.route('**/_sandbox/**', (route) => route.abort())
  await phone.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor()
  await expectAccessibleToo(phone, 'no answer', { narrow: 360 })
})
