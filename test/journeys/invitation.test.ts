import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Call } from '../support/api.js'
import { EVERY_STATE_MS, expectAccessible } from '../support/browser/accessible.js'
import { tabTo, untilFocused } from '../support/browser/oidc-pages.js'
import { journey } from '../support/scenes/journey.js'
import { mailedCode } from '../support/scenes/sign-in.js'
import { INVITED, inviteByMail, walletOf } from '../support/scenes/transfers.js'
import { newReader, newSeller } from '../support/scenes/world.js'

const { host, site, page: newPage } = journey()

/** Someone who was invited by mail, and the address in it. */
async function invited(body: object = { memo: 'For the concert on Friday' }) {
  const { url, call } = await host()
  const payer = await newReader(call, await newSeller(call), { balance: 10, email: 'grace@example.test' })
  const { id, path } = await inviteByMail(call, payer, body)
  const cancel = () => call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token })
  return { url, call, payer, address: url + path, cancel }
}

/** What people go by on the page: roles and names. */
const parts = (page: Page) => ({
  offer: page.getByRole('heading', { name: '2.50 USD for you' }),
  continue: page.getByRole('button', { name: 'Continue', exact: true }),
  code: page.getByRole('textbox', { name: 'Code' }),
  verify: page.getByRole('button', { name: 'Verify', exact: true }),
  resend: page.getByRole('button', { name: 'Send a new code' }),
  balance: page.getByText(/^BALANCE \d\S* USD$/),
  alert: page.getByRole('alert'),
})

const newestCode = (call: Call) => mailedCode(call, INVITED)

for (const javaScriptEnabled of [true, false])
  test(`a guest signs in and claims by keyboard alone, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const { url, call, payer, address } = await invited()
    const page = await newPage({ javaScriptEnabled })
    await page.goto(address)
    const shown = parts(page)
    await shown.offer.waitFor()
    await page.getByText('grace@example.test').waitFor()
    await page.getByText('For the concert on Friday').waitFor()
    // Without scripts the page cannot be asked what has the focus: the only button is the first stop.
    if (javaScriptEnabled) await tabTo(page, 'Continue')
    else await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await untilFocused(shown.code)
    await page.keyboard.type(await newestCode(call))
    await page.keyboard.press('Enter')
    await shown.balance.waitFor()
    expect(await shown.balance.innerText()).toBe('BALANCE 2.50 USD')
    expect(await walletOf(call, payer)).toBe(7.5)
    const session = (await page.context().cookies(url)).find(({ name }) => name === 'session_id')
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' })
    expect((await call('GET', '/v4/session', { session: session?.value as string })).body.user.email).toBe(INVITED)
    await page.reload()
    expect(await shown.balance.innerText()).toBe('BALANCE 2.50 USD')
  })

test('an alert reports a wrong code, and the guest can request a new one', async () => {
  const { call, address } = await invited()
  const page = await newPage()
  await page.goto(address)
  const shown = parts(page)
  await shown.continue.click()
  await shown.code.fill('0')
  await shown.verify.click()
  await shown.alert.filter({ hasText: 'The code is wrong.' }).waitFor()
  const first = await newestCode(call)
  await shown.resend.click()
  await shown.alert.waitFor({ state: 'detached' })
  await expect.poll(() => newestCode(call)).not.toBe(first)
  await shown.code.fill(await newestCode(call))
  await shown.verify.click()
  await shown.balance.waitFor()
})

test('a link that the sender cancels says so and hides the amount', async () => {
  const { address, cancel } = await invited()
  const page = await newPage()
  await page.goto(address)
  await parts(page).continue.waitFor()
  await cancel()
  await parts(page).continue.click()
  expect(await parts(page).alert.innerText()).toContain('The sender took the amount back.')
  expect(await page.getByRole('button').count()).toBe(0)
  expect(await page.locator('body').innerText()).not.toContain('2.50')
})

test('another site cannot frame the page', async () => {
  const { address } = await invited()
  const framing = await site(`<!doctype html><title>A trap</title><iframe src="${address}"></iframe>`)
  // A page of its own: that the console tells of it is what is asked.
  const page = await (await newPage()).context().newPage()
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  await page.goto(framing.url)
  await refused
  expect(await page.frames()[1]?.getByRole('button').count()).toBe(0)
})

test('axe finds nothing serious in any state of the page', { timeout: EVERY_STATE_MS }, async () => {
  const { url, call, address } = await invited({ memo: 'x'.repeat(140) })
  const page = await newPage()
  const shown = parts(page)
  const look = (state: string) => expectAccessible(page, state)
  await page.goto(address)
  await look('offer')
  await shown.continue.click()
  await shown.code.waitFor()
  await look('code')
  await shown.verify.click()
  await shown.alert.waitFor()
  await look('refused')
  await shown.code.fill(await newestCode(call))
  await shown.verify.click()
  await shown.balance.waitFor()
  await look('claimed')
  await page.context().clearCookies()
  await page.goto(address)
  await look('over')
  await page.goto(`${url}/transfers/none`)
  await look('unknown')
})
