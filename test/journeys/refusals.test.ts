import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { howMuch } from '../support/how-much.js'
import { codeFor, heardBy, signIn } from '../support/scenes/journey.js'
import { advance } from '../support/scenes/market.js'
import { payment, reader, refusals } from '../support/scenes/refusals.js'
import { wrongCode } from '../support/scenes/sign-in.js'

const { opened, signedIn, askedForCode, paid } = refusals()

test('shows an error for an invalid email address, and keeps it for correction', async () => {
  const { shown } = await opened()
  await shown.open.click()
  for (const typed of howMuch(['a@b'], ['', 'nobody', 'a@b'])) {
    await shown.email.fill(typed)
    await shown.continue.click()
    expect(await shown.alert.textContent()).toBe('This is not an email address. Correct it and try again.')
    expect(await shown.email.inputValue()).toBe(typed)
    expect(await shown.email.getAttribute('aria-invalid')).toBe('true')
  }
  await shown.email.fill(reader)
  await shown.continue.click()
  await shown.code.waitFor()
  expect(await shown.alert.isVisible()).toBe(false)
})

test('shows an error for a wrong code, and then accepts the right one, also with spaces', async () => {
  const { shown, code } = await askedForCode()
  await shown.code.fill(wrongCode(code))
  await shown.verify.click()
  expect(await shown.alert.textContent()).toBe('This code is wrong. Check the mail and enter it again.')
  await shown.code.fill(` ${code.slice(0, 3)} ${code.slice(3)} `)
  await shown.verify.click()
  await shown.balance.waitFor()
})

test('shows an error for an expired code, and sends a new one', async () => {
  const { service, page, shown, code } = await askedForCode()
  await advance(service.call, '11m')
  await shown.code.fill(code)
  await shown.verify.click()
  expect(await shown.alert.textContent()).toBe('This code has expired or was already used. Send a new code.')
  await page.frameLocator('#pay iframe').getByRole('button', { name: 'Send a new code' }).click()
  await expect.poll(() => shown.code.inputValue()).toBe('')
  await shown.code.fill(await codeFor(service.call, shown, reader))
  await shown.verify.click()
  await shown.balance.waitFor()
})

test('shows an unreachable service at every step, and keeps what was typed', async () => {
  const { service, page, shown } = await opened()
  const down = (route: Route) => route.abort()
  const unreachable = 'Cannot reach the payment service. Check your connection and try again.'
  const steps = [
    { calls: '**/v4/session/code', act: shown.continue, type: () => shown.email.fill(reader) },
    {
      calls: '**/v4/session/verify',
      act: shown.verify,
      type: async () => shown.code.fill(await codeFor(service.call, shown, reader)),
    },
  ]
  await shown.open.click()
  for (const { calls, act, type } of steps) {
    await type()
    await page.route(calls, down)
    await act.click()
    expect(await shown.alert.textContent()).toBe(unreachable)
    await page.unroute(calls)
    await act.click()
    await act.waitFor({ state: 'hidden' })
  }
  await shown.balance.waitFor()
})

test('does not pay twice after a lost answer, not even after a reload', async () => {
  const { service, page, shown } = await signedIn()
  const answers: string[] = []
  await page.route(payment, async (route) => {
    answers.push(await (await route.fetch()).text())
    await route.abort()
  })
  await shown.pay.click()
  await shown.alert.waitFor()
  await page.unroute(payment)
  await page.reload()
  await shown.open.click()
  await shown.pay.click()
  await shown.open.waitFor()
  const [first] = await heardBy(page)
  expect(first?.detail.nonce).toBe(JSON.parse(answers[0] ?? '').nonce)
  expect(await paid(service)).toEqual({ movements: 1, ok: true })
})

test('shows a failing service, and retries with the same key', async () => {
  const { service, page, shown } = await signedIn()
  const keys: (string | undefined)[] = []
  await page.route(payment, async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    if (keys.length === 1) await route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' })
    else await route.continue()
  })
  await shown.pay.click()
  expect(await shown.alert.textContent()).toBe(
    'The payment service failed. Try again in a moment. If you try again, you do not pay twice.',
  )
  await shown.pay.click()
  await shown.open.waitFor()
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  expect(keys[1]).toBe(keys[0])
  expect(await paid(service)).toEqual({ movements: 1, ok: true })
})

test('returns to the sign-in after it ended, with the email filled in, and then pays', async () => {
  const { service, shown } = await opened()
  await signIn(service, shown, demo.payer.email)
  await advance(service.call, '25h')
  await shown.pay.click()
  expect(await shown.alert.textContent()).toBe('Your sign-in has ended. Sign in again. Nothing was charged.')
  expect(await shown.email.inputValue()).toBe(demo.payer.email)
  await shown.continue.click()
  await shown.code.fill(demo.payer.code)
  await shown.verify.click()
  await shown.pay.click()
  await shown.open.waitFor()
  expect(await paid(service)).toEqual({ movements: 1, ok: true })
})

test('Cancel aborts a hanging call, and the payment can be opened again', async () => {
  const { page, shown } = await opened()
  await page.route('**/v4/session/code', () => {})
  await shown.open.click()
  await shown.email.fill(reader)
  await shown.continue.click()
  await shown.cancel.click()
  await shown.open.waitFor()
  await page.unroute('**/v4/session/code')
  await shown.open.click()
  expect(await shown.email.inputValue()).toBe(reader)
  await shown.continue.click()
  await shown.code.waitFor()
})

test('waits for a running payment: neither Cancel, Escape nor toggle lose it', async () => {
  const { page, shown } = await signedIn()
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  await page.route(payment, async (route) => {
    await held
    await route.continue()
  })
  await shown.pay.click()
  await shown.cancel.click({ force: true })
  await page.keyboard.press('Escape')
  await page.evaluate('element.toggle()')
  expect(await shown.dialog.isVisible()).toBe(true)
  letGo()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(6)
})
