import { expect, test } from 'vitest'
import { EVERY_STATE_MS, expectAccessible } from '../support/browser/accessible.js'
import { journey } from '../support/scenes/journey.js'
import { ask, mailedLink, poll } from '../support/scenes/second-factor.js'
import { newPayer, newSeller, newSession } from '../support/scenes/world.js'

const { host, page: newPage } = journey()

/** A user without a device, whose session asks to approve something; and the address that was mailed. */
async function asked() {
  const service = await host()
  const payer = await newPayer(service.call, await newSeller(service.call))
  const session = await newSession(service.call, payer.email)
  const detail = { payee: 'The Morning Paper', amount: 2.5, dq: 'USD', to: 'd41fe3a8.twin.localhost' }
  const { id } = (await ask(service.call, { session }, { detail })).body
  const { path } = await mailedLink(service.call, payer.email)
  const status = async () => (await poll(service.call, { session }, id)).body.status
  return { service, session, status, address: service.url + path }
}

for (const [button, heading, status] of [
  ['Approve', 'Approved', 'approved'],
  ['Reject', 'Rejected', 'rejected'],
] as const)
  test(`a user reads and answers a mailed request by keyboard alone: ${button}`, async () => {
    const { status: statusNow, address } = await asked()
    const page = await newPage()
    await page.goto(address)
    await page.getByRole('heading', { name: 'Transfer' }).waitFor()
    await page.getByText('The Morning Paper').waitFor()
    const focused = () => page.evaluate('document.activeElement.textContent.trim()')
    const order: unknown[] = []
    for (let n = 0; n < 2; n++) {
      await page.keyboard.press('Tab')
      order.push(await focused())
    }
    expect(order).toEqual(['Reject', 'Approve'])
    if (button === 'Reject') await page.keyboard.press('Shift+Tab')
    await page.keyboard.press(button === 'Reject' ? 'Space' : 'Enter')
    await page.getByRole('heading', { name: heading }).waitFor()
    expect(await statusNow()).toBe(status)
    await page.goto(address)
    expect(await page.getByRole('alert').innerText()).toBe('This link has expired or was already used.')
  })

test('the browser of the requesting session cannot answer, and the page says why', async () => {
  const { service, session, status, address } = await asked()
  const page = await newPage()
  await page.context().addCookies([{ name: 'session_id', value: session, url: service.url }])
  await page.goto(address)
  expect(await page.getByRole('alert').innerText()).toContain('Answer from another session')
  expect(await page.getByRole('button').count()).toBe(0)
  expect(await status()).toBe('pending')
})

test('axe finds nothing serious in any state of the page', { timeout: EVERY_STATE_MS }, async () => {
  const { address } = await asked()
  const page = await newPage()
  await page.goto(address)
  await expectAccessible(page, 'asking')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByRole('heading', { name: 'Approved' }).waitFor()
  await expectAccessible(page, 'approved')
  await page.goto(address)
  await expectAccessible(page, 'used')
})
