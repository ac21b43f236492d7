import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Call } from '../support/api.js'
import { EVERY_STATE_MS, expectAccessible, expectAccessibleToo } from '../support/browser/accessible.js'
import { newConnection, tabTo, untilFocused } from '../support/browser/oidc-pages.js'
import { journey } from '../support/scenes/journey.js'
import { exchangeCode } from '../support/scenes/oidc.js'

const { host, site, page: newPage } = journey()

const EMAIL = 'newcomer@example.test'

/** What people go by on the pages: roles and names. */
const parts = (page: Page) => ({
  email: page.getByRole('textbox', { name: 'Email' }),
  code: page.getByRole('textbox', { name: 'Code' }),
  button: (name: string) => page.getByRole('button', { name, exact: true }),
  account: (name: string) => page.getByRole('radio', { name, exact: true }),
  alert: page.getByRole('alert'),
})

const newestCode = async (call: Call): Promise<string> =>
  (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(EMAIL)}&limit=1`)).body.messages[0].codes[0]

/** From the address to consent, by keyboard alone. */
async function signInByKeyboard(page: Page, call: Call): Promise<void> {
  const shown = parts(page)
  await untilFocused(shown.email)
  await page.keyboard.type(EMAIL)
  await page.keyboard.press('Enter')
  await untilFocused(shown.code)
  await page.keyboard.type(await newestCode(call))
  await page.keyboard.press('Enter')
  await shown.button('Allow').waitFor()
}

async function addAccount(call: Call, name: string): Promise<void> {
  const dq = (await call('GET', '/v4/dq')).body.digital_quantities[0]
  const { account } = (await call('POST', '/v4/account/register', { body: { dq, email: EMAIL } })).body
  const [, { client_id, client_secret }] = account.secrets
  const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
  const token = (await call('POST', '/v4/account/oauth/token', { headers })).body.access_token
  await call('PUT', '/v4/account', { token, body: { businessName: name } })
}

test('a user connects an app by keyboard: signs in by code, picks a business account, returns with a valid code', async () => {
  const { url, call } = await host()
  await addAccount(call, 'Difference Engines')
  const { url: callback } = await site('<!doctype html><title>The app</title><h1>Back in the app</h1>')
  const { app, address } = await newConnection(call, url, callback, { scope: 'openid twin' })
  const page = await newPage()
  await page.goto(address)
  await signInByKeyboard(page, call)
  const shown = parts(page)
  expect(await shown.account('None').isChecked()).toBe(true)
  await tabTo(page, 'Not you?')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  expect(await shown.account('Difference Engines').isChecked()).toBe(true)
  await tabTo(page, 'Allow')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor()

  const { origin, pathname, searchParams } = new URL(page.url())
  expect(origin + pathname).toBe(callback)
  expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['a state', `${url}/v4/oidc`])
  const code = searchParams.get('code') as string
  const { body } = await exchangeCode(call, app, code, { redirect_uri: callback })
  const { account } = (await call('GET', '/v4/agent/account', { token: body.access_token })).body
  expect(account).toMatchObject({ id: expect.any(Number) })

  // The browser is signed in now; what was picked before is picked again.
  await page.goto(address)
  expect(await shown.account('Difference Engines').isChecked()).toBe(true)
})

test('a user denies by keyboard, and the app learns of the denial', async () => {
  const { url, call } = await host()
  const { url: callback } = await site('<!doctype html><title>The app</title><h1>Back in the app</h1>')
  const { address } = await newConnection(call, url, callback)
  const page = await newPage()
  await page.goto(address)
  await signInByKeyboard(page, call)
  await tabTo(page, 'Deny')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor()
  expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied')
})

test('Cancel returns to the app before anything is granted', async () => {
  const { url, call } = await host()
  const { url: callback } = await site('<!doctype html><title>The app</title><h1>Back in the app</h1>')
  const { address } = await newConnection(call, url, callback)
  const page = await newPage()
  await page.goto(address)
  await parts(page).button('Cancel').click()
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor()
  expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied')
})

test('an alert reports a wrong address and a wrong code, and the user can correct both', async () => {
  const { url, call } = await host()
  const { address } = await newConnection(call, url, 'https://app.example.test/callback')
  const page = await newPage()
  await page.goto(address)
  const shown = parts(page)
  await shown.email.fill('nobody')
  await shown.button('Continue').click()
  await shown.alert.filter({ hasText: 'Enter an email address' }).waitFor()
  await shown.email.fill(EMAIL)
  await shown.button('Continue').click()
  await shown.code.fill('0')
  await shown.button('Verify').click()
  await shown.alert.filter({ hasText: 'The code is wrong.' }).waitFor()
  await shown.code.fill(await newestCode(call))
  await shown.button('Verify').click()
  await shown.button('Allow').waitFor()
})

test('the pages work without JavaScript, and continue by themselves after a device approves', async () => {
  const { url, call } = await host()
  const { url: callback } = await site('<!doctype html><title>The app</title><h1>Back in the app</h1>')
  const { address } = await newConnection(call, url, callback)
  const first = await newPage()
  await first.goto(address)
  await signInByKeyboard(first, call)
  const cookies = await first.context().cookies()
  const session = cookies.find(({ name }) => name === 'session_id')?.value as string
  const device = { platform: 'ios', token: 'device-token' }
  await call('POST', '/v4/notifications/registrations', { session, body: device })

  const page = await newPage({ javaScriptEnabled: false })
  await page.goto(address)
  const shown = parts(page)
  await shown.email.fill(EMAIL)
  await shown.button('Continue').click()
  await shown.code.fill(await newestCode(call))
  await shown.button('Verify').click()
  await page.getByRole('status').waitFor()
  const { requests } = (await pendingOf(call)) as { requests: number[] }
  for (const id of requests)
    await call('POST', `/v4/authentication-requests/${id}/approve`, {
      session,
      headers: { 'x-device-token': device.token },
    })
  await shown.button('Allow').click()
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor()
})

/** The requests that were pushed to the user's device. */
async function pendingOf(call: Call) {
  const { messages } = (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(EMAIL)}&kind=push`)).body
  return { requests: messages.map((message: any) => Number(message.data.authentication_request_id)) }
}

test("the service signs out on the app's request, and asks first if there is no id token", async () => {
  const { url, call } = await host()
  const { url: callback } = await site('<!doctype html><title>The app</title><h1>Back in the app</h1>')
  const { address } = await newConnection(call, url, callback)
  const page = await newPage()
  await page.goto(address)
  await signInByKeyboard(page, call)
  await page.goto(`${url}/v4/oidc/session/end`)
  await parts(page).button('Cancel').click()
  await page.getByRole('heading', { name: 'Still signed in' }).waitFor()
  await page.goto(`${url}/v4/oidc/session/end`)
  await parts(page).button('Sign out').click()
  await page.getByRole('heading', { name: 'Signed out' }).waitFor()
  await page.goto(address)
  await parts(page).email.waitFor()
})

test('another site cannot frame the consent page', async () => {
  const { url, call } = await host()
  const { address } = await newConnection(call, url, 'https://app.example.test/callback')
  const framing = await site(
    `<!doctype html><title>A trap</title><iframe src="${address.replaceAll('&', '&amp;')}"></iframe>`,
  )
  // A page of its own: that the console tells of it is what is asked.
  const page = await (await newPage()).context().newPage()
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  await page.goto(framing.url)
  await refused
  const frame = page.frames()[1]
  expect(await frame?.getByRole('button').count()).toBe(0)
})

test('axe finds nothing serious on any page', { timeout: EVERY_STATE_MS }, async () => {
  const { url, call } = await host()
  await addAccount(call, 'Difference Engines')
  const { address } = await newConnection(call, url, 'https://app.example.test/callback', {
    scope: 'openid profile email twin offline_access',
  })
  const page = await newPage()
  const shown = parts(page)
  const look = (state: string) => expectAccessible(page, state)
  const lookToo = (state: string) => expectAccessibleToo(page, state)
  await page.goto(address)
  await look('email')
  await shown.button('Continue').click()
  await shown.alert.waitFor()
  await lookToo('refused')
  await shown.email.fill(EMAIL)
  await shown.button('Continue').click()
  await shown.code.waitFor()
  await lookToo('code')
  await shown.code.fill(await newestCode(call))
  await shown.button('Verify').click()
  await shown.button('Allow').waitFor()
  await look('consent')
  await page.goto(`${url}/v4/oidc/session/end`)
  await look('signing-out')
  await page.goto(`${url}/v4/oidc/interaction/none`)
  await lookToo('expired')
  await page.goto(`${url}/v4/oidc/auth?client_id=none`)
  await lookToo('no-client')
})
