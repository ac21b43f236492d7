import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Call } from '../support/api.js'
import { EVERY_STATE_MS, expectAccessible, expectAccessibleToo } from '../support/browser/accessible.js'
import { tabTo, untilFocused } from '../support/browser/oidc-pages.js'
import { howMuch } from '../support/how-much.js'
import { newBusiness, requestChange } from '../support/scenes/account-changes.js'
import { newItem } from '../support/scenes/catalog.js'
import { journey } from '../support/scenes/journey.js'
import { answerFromDevice, registerDevice } from '../support/scenes/second-factor.js'
import { mailedCode } from '../support/scenes/sign-in.js'
import { newSession } from '../support/scenes/world.js'

const { host, page: newPage } = journey()
const OWNER = 'grace@example.test'

/** A business whose agent may ask its owner. */
async function business() {
  const { url, call } = await host()
  const owner = await newBusiness(call, OWNER)
  const item = await newItem(call, owner.seller)
  /** The address at which the owner approves a change. */
  const ask = async (fields: object = { price: 0.5, description: 'By the minute.' }) => {
    const change = { kind: 'update_item', catalog_item_id: item.id, ...fields }
    const { body } = await requestChange(call, owner.agent, change)
    const statusOf = async () => (await call('GET', `/v4/agent/approvals/${body.approval_id}`, owner.agent)).body.status
    return { address: body.url as string, statusOf }
  }
  const offer = async () => (await call('POST', '/v4/agent/account-choice', owner.agent)).body.url as string
  const granted = async () => (await call('GET', '/v4/agent/account', owner.agent)).body.account
  return { url, call, ...owner, ask, offer, granted }
}

/** What people go by on the pages: roles and names. */
const parts = (page: Page) => ({
  email: page.getByRole('textbox', { name: 'Email' }),
  code: page.getByRole('textbox', { name: 'Code' }),
  continue: page.getByRole('button', { name: 'Continue', exact: true }),
  verify: page.getByRole('button', { name: 'Verify', exact: true }),
  approve: page.getByRole('button', { name: 'Approve', exact: true }),
  reject: page.getByRole('button', { name: 'Reject', exact: true }),
  choose: page.getByRole('button', { name: 'Choose', exact: true }),
  alert: page.getByRole('alert'),
  status: page.getByRole('status'),
})

/** By keyboard alone: the field has the focus, Enter goes on. */
async function signIn(page: Page, call: Call, email = OWNER, onDevice = async () => {}): Promise<void> {
  const shown = parts(page)
  await untilFocused(shown.email)
  await page.keyboard.type(email)
  await page.keyboard.press('Enter')
  await untilFocused(shown.code)
  await page.keyboard.type(await mailedCode(call, email))
  await page.keyboard.press('Enter')
  await onDevice()
  await page.getByText(`Signed in as ${email}`).waitFor()
}

for (const javaScriptEnabled of [true, false])
  test(`the owner approves a change by keyboard alone, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const { call, ask } = await business()
    const { address, statusOf } = await ask()
    const page = await newPage({ javaScriptEnabled })
    await page.goto(address)
    await signIn(page, call)
    for (const text of ['Now: The weather of a city, by the hour.', 'Becomes: By the minute.', 'Becomes: 0.50 USD'])
      await page.getByText(text).waitFor()
    if (javaScriptEnabled) await tabTo(page, 'Approve')
    else await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Approved. Go back to your app.').waitFor()
    expect(await statusOf()).toBe('approved')
  })

test('the owner rejects a change, and the page confirms it', async () => {
  const { call, ask } = await business()
  const { address, statusOf } = await ask()
  const page = await newPage()
  await page.goto(address)
  await signIn(page, call)
  await parts(page).reject.click()
  await page.getByText('You rejected this.').waitFor()
  expect(await statusOf()).toBe('rejected')
})

test('the page continues by itself after the device approves', async () => {
  const { call, session, ask } = await business()
  await registerDevice(call, { session })
  const { address, statusOf } = await ask()
  const page = await newPage()
  await page.goto(address)
  const onDevice = async () => {
    await parts(page).status.filter({ hasText: 'We sent a request to your device.' }).waitFor()
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${OWNER}&kind=push`)).body
    await answerFromDevice(call, { session }, { id: Number(messages[0].data.authentication_request_id) })
  }
  // First for the sign-in in this browser, then for what is approved in it.
  await signIn(page, call, OWNER, onDevice)
  await parts(page).approve.click()
  await onDevice()
  await page.getByText('Approved. Go back to your app.').waitFor()
  expect(await statusOf()).toBe('approved')
})

test('however long a request is, its buttons are in sight on a phone', async () => {
  const { call, ask } = await business()
  const { address } = await ask({ price: 0.5, description: 'By the minute, and for every place on earth. '.repeat(20) })
  const page = await newPage({ viewport: { width: 360, height: 760 } })
  await page.goto(address)
  await signIn(page, call)
  const { approve, reject } = parts(page)
  expect(await page.evaluate('document.documentElement.scrollHeight')).toBeGreaterThan(900)
  for (const button of [approve, reject]) {
    const box = await button.boundingBox()
    if (!box) throw new Error('The button is not shown.')
    expect(box.y + box.height).toBeLessThanOrEqual(760)
    const there = `document.elementFromPoint(${box.x + box.width / 2}, ${box.y + box.height / 2}).textContent`
    expect(await page.evaluate(there)).toBe(await button.textContent())
  }
  expect(await page.evaluate('scrollY')).toBe(0)
})

test('another user sees nothing of the change', async () => {
  const { call, ask } = await business()
  const { address } = await ask()
  const page = await newPage()
  await page.goto(address)
  await signIn(page, call, 'eve@example.test')
  await parts(page).alert.filter({ hasText: 'Only the user whom an app asks' }).waitFor()
  expect(await page.locator('body').innerText()).not.toContain('weather')
  await page.getByRole('button', { name: 'Not you?' }).click()
  await signIn(page, call)
  await parts(page).approve.waitFor()
})

for (const javaScriptEnabled of howMuch([false], [true, false]))
  test(`the owner chooses an account by keyboard alone, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const { call, seller, offer, granted } = await business()
    const page = await newPage({ javaScriptEnabled })
    await page.goto(await offer())
    await signIn(page, call)
    expect(await page.getByRole('radio', { name: `Account ${seller.id}` }).isChecked()).toBe(true)
    // The first stop is who is signed in, the next the account that is granted now.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await parts(page).status.filter({ hasText: 'no access to a business account' }).waitFor()
    expect(await granted()).toBeNull()
  })

test('axe finds nothing serious in any state of the pages', { timeout: EVERY_STATE_MS }, async () => {
  const { call, ask, offer } = await business()
  const page = await newPage()
  const shown = parts(page)
  const look = (state: string) => expectAccessible(page, state)
  const lookToo = (state: string) => expectAccessibleToo(page, state)
  const property = { type: 'string', description: 'x'.repeat(300) }
  const service_schema = { type: 'object', properties: { ['y'.repeat(60)]: property } }
  const many = { name: 'z'.repeat(64), description: 'w'.repeat(1024), featured: true, service_schema }
  const { address } = await ask(many)
  await page.goto(address)
  await look('email')
  await shown.continue.click()
  await shown.alert.waitFor()
  await lookToo('refused')
  await shown.email.fill('eve@example.test')
  await shown.continue.click()
  await shown.code.waitFor()
  await lookToo('code')
  await shown.code.fill(await mailedCode(call, 'eve@example.test'))
  await shown.verify.click()
  await lookToo('nothing')
  await page.getByRole('button', { name: 'Not you?' }).click()
  await shown.email.fill(OWNER)
  await shown.continue.click()
  await shown.code.fill(await mailedCode(call, OWNER))
  await shown.verify.click()
  await shown.approve.waitFor()
  await look('asked')
  await page.goto(await offer())
  await shown.choose.waitFor()
  await look('choose')
  await shown.choose.click()
  await shown.status.waitFor()
  await lookToo('chosen')
  await registerDevice(call, { session: await newSession(call, OWNER) })
  await page.goto(address)
  await shown.approve.click()
  await shown.status.waitFor()
  await look('wait')
  await shown.reject.click()
  await page.getByText('You rejected this.').waitFor()
  await lookToo('rejected')
  await page.goto(await offer())
  await shown.status.waitFor()
  await lookToo('waiting to choose')
})
