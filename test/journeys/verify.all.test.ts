import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { heardBy, openWithSession, signInByCode } from '../support/scenes/journey.js'
import { pressPasses } from '../support/scenes/press-passes.js'

/** The dialog of a verification, where it is that of a payment: payment.test.ts and refusals.test.ts hold that. */

const { opened } = pressPasses()

test('a newcomer has no delegate, and Cancel without a try sends no event', async () => {
  const { service, page, shown } = await opened()
  await shown.open.click()
  await shown.cancel.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toEqual([])
  await signInByCode(service, shown, 'newcomer@example.test')
  await expect.poll(() => shown.alert.textContent()).toBe('newcomer@example.test has no Press pass.')
  expect(await heardBy(page)).toHaveLength(3)
  await page.keyboard.press('Escape')
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(3)
})

test('a reader verifies without a mouse', async () => {
  const { page, shown } = await opened({ issueMin: 3 })
  const focused = () => page.frames()[1]?.evaluate('document.activeElement.textContent || document.activeElement.id')
  await page.getByText('Before').focus()
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Verify Press pass')
  await page.keyboard.press('Enter')
  await shown.email.waitFor()
  await page.keyboard.type(demo.payer.email)
  await page.keyboard.press('Enter')
  await shown.code.waitFor()
  await page.keyboard.type(demo.payer.code)
  await page.keyboard.press('Enter')
  await shown.alert.waitFor()
  expect(await focused()).toBe('Cancel')
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Use another email')
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Cancel')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await shown.email.waitFor()
  await expect.poll(focused).toBe('email')
  await page.keyboard.press('Escape')
  await shown.open.waitFor()
  expect(await focused()).toBe('Verify Press pass')
  expect(await heardBy(page)).toHaveLength(3)
})

test('the page reports an unreachable service, and Verify asks it again', async () => {
  const { service, page, shown } = await opened()
  await page.route('**/v2/twin/nonce', (route) => route.abort())
  await openWithSession(service, shown, demo.payer.email)
  await shown.verify.click()
  await expect
    .poll(() => shown.alert.textContent())
    .toBe('Cannot reach the payment service. Check your connection and try again.')
  expect(await heardBy(page)).toEqual([])
  await page.unroute('**/v2/twin/nonce')
  await shown.verify.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(6)
})
