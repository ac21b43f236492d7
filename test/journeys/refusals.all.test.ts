import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { codeFor, heardBy, parts, shopHtml, signIn, visit } from '../support/scenes/journey.js'
import { payment, reader, refusals } from '../support/scenes/refusals.js'
import { wrongCode } from '../support/scenes/sign-in.js'

/** Further sentences, shown as those in refusals.test.ts. */

const { host, site, newPage, signedIn, askedForCode, paid } = refusals()

test('shows an error after too many wrong codes, and sends a new one', async () => {
  const { service, page, shown, code } = await askedForCode()
  for (let tries = 0; tries < 6; tries++) {
    await shown.code.fill(wrongCode(code))
    await shown.verify.click()
    await expect.poll(() => shown.verify.isEnabled()).toBe(true)
  }
  expect(await shown.alert.textContent()).toBe('You entered too many wrong codes. Send a new code.')
  await page.frameLocator('#pay iframe').getByRole('button', { name: 'Send a new code' }).click()
  await expect.poll(() => shown.code.inputValue()).toBe('')
  await shown.code.fill(await codeFor(service.call, shown, reader))
  await shown.verify.click()
  await shown.balance.waitFor()
})

test('shows the waiting time after too many codes, and accepts a different address', async () => {
  const { page, shown } = await askedForCode()
  const frame = page.frameLocator('#pay iframe')
  for (let codes = 1; codes < 6; codes++) {
    await frame.getByRole('button', { name: 'Send a new code' }).click()
    await expect.poll(() => shown.verify.isEnabled()).toBe(true)
  }
  expect(await shown.alert.textContent()).toMatch(
    /^Too many codes were sent to this email\. Try again in 1[45] minutes, or use another email\.$/,
  )
  await frame.getByRole('button', { name: 'Use another email' }).click()
  await shown.email.fill('another@example.test')
  await shown.continue.click()
  await shown.code.waitFor()
})

test('repeats a payment that did not reach the service', async () => {
  const { service, page, shown } = await signedIn()
  await page.route(payment, (route) => route.abort())
  await shown.pay.click()
  expect(await shown.alert.textContent()).toBe(
    'Cannot reach the payment service. Check your connection and try again. If you try again, you do not pay twice.',
  )
  await page.unroute(payment)
  await shown.pay.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(6)
  expect(await paid(service)).toEqual({ movements: 1, ok: true })
})

test("shows the service's own sentence for an unknown error", async () => {
  const { page, shown } = await signedIn()
  const refusal = { error: 'Payments rest on Sundays.', status: 403, code: 'sunday' }
  await page.route(payment, (route) => route.fulfill({ status: 403, json: refusal }))
  await shown.pay.click()
  expect(await shown.alert.textContent()).toBe('Payments rest on Sundays. Nothing was charged.')
})

test('says that the item is no longer for sale', async () => {
  const service = await host({})
  await service.call('POST', '/_sandbox/seed', { body: demo.seed })
  const page = await newPage()
  const shown = parts(await visit(page, (await site(shopHtml(service))).url))
  await signIn(service, shown, demo.payer.email)
  await service.call('POST', '/_sandbox/reset')
  await shown.pay.click()
  await shown.continue.click()
  await shown.code.fill(demo.payer.code)
  await shown.verify.click()
  await shown.pay.click()
  expect(await shown.alert.textContent()).toBe('This is no longer for sale. Nothing was charged.')
})
