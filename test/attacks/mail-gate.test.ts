import { expect, test } from 'vitest'
import type { Call } from '../support/api.js'
import { startHere } from '../support/contract/in-process.js'
import { cardService } from '../support/scenes/card-service.js'
import { guest, newCheckout, newItem, withCard } from '../support/scenes/checkout.js'
import { advance, stopClock } from '../support/scenes/market.js'
import { registerDevice } from '../support/scenes/second-factor.js'
import { askCode, newGuest } from '../support/scenes/sign-in.js'
import { newPayer, newReader, newSeller } from '../support/scenes/world.js'

const VICTIM = 'victim@example.test'

const mailsTo = async (call: Call, to: string): Promise<{ subject: string; text: string; links: string[] }[]> =>
  (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(to)}&kind=mail&limit=100`)).body.messages

const removeDevice = (call: Call, token: string, id: number) =>
  call('DELETE', `/v4/notifications/registrations/${id}`, { token })

test('whoever makes a user for an address cannot mail it through devices', async () => {
  const { call } = await startHere()
  await stopClock(call)
  const { token } = await newPayer(call, await newSeller(call), { email: VICTIM })
  for (let n = 0; n < 20; n++) {
    const id = await registerDevice(call, { token }, `device-${n}`, { from: 'device-0' })
    await call('DELETE', `/v4/notifications/registrations/${id}`, { token, headers: { 'x-device-token': 'device-0' } })
    await removeDevice(call, token, id)
  }
  expect((await mailsTo(call, VICTIM)).length).toBeLessThanOrEqual(5)
})

test('the owner of a proven address gets every mail about their devices', async () => {
  const { call } = await startHere()
  await stopClock(call)
  const { token } = await newReader(call, await newSeller(call), { email: VICTIM })
  const before = (await mailsTo(call, VICTIM)).length
  const headers = { 'x-device-token': 'device-0' }
  for (let n = 0; n < 12; n++) await registerDevice(call, { token }, `device-${n}`, n > 0 ? { from: 'device-0' } : {})
  expect((await call('GET', '/v4/notifications/registrations', { token, headers })).status).toBe(200)
  expect((await mailsTo(call, VICTIM)).length - before).toBeGreaterThanOrEqual(12)
})

test('many accounts cannot mail an address that they name as their billing address', async () => {
  const { call } = await startHere()
  await stopClock(call)
  for (let n = 0; n < 9; n++) {
    const { token } = await newSeller(call)
    await call('PUT', '/v4/billing/profile', { token, body: { billing_email: VICTIM } })
    const body = { plan: 'growth', payment_method_id: 'pm_card_visa' }
    expect((await call('PUT', '/v4/billing/plan', { token, body })).status).toBe(200)
  }
  expect(await mailsTo(call, VICTIM)).toHaveLength(5)
})

test('failed refunds mail the address in a link five times, without a link of the seller', async () => {
  const { call, service } = await cardService({
    upstream: { fetch: async () => new Response('', { status: 503 }) },
    refund: async () => ({ status: 'refused', reason: 'too long ago' }),
  })
  const seller = await newSeller(call)
  const name = 'Win at evil.example or https://evil.example/now'
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 2, name })
  for (let n = 0; n < 9; n++) {
    const link = await newCheckout(call, { seller, item }, { email: VICTIM })
    expect((await withCard(call, link, await guest(call))).status).toBe(502)
  }
  await service.sandbox.advance('6d')
  const mails = await mailsTo(call, VICTIM)
  expect(mails).toHaveLength(5)
  for (const { text, links } of mails) {
    expect(text).toContain('Win at')
    expect(text).not.toMatch(/evil\.example/)
    expect(links).toEqual([])
  }
})

test('sessions that client credentials start have no codes of their own', async () => {
  const { call } = await startHere()
  await stopClock(call)
  const { token } = await newPayer(call, await newSeller(call), { email: VICTIM })
  for (let n = 0; n < 4; n++) {
    const session = (await call('POST', '/v4/session', { token })).body.session_id
    for (let m = 0; m < 3; m++) await askCode(call, session, VICTIM)
  }
  expect(await mailsTo(call, VICTIM)).toHaveLength(5)
  await advance(call, '15m')
  expect((await askCode(call, await newGuest(call), VICTIM)).status).toBe(202)
})
