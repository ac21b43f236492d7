import { expect, test } from 'vitest'
import type { Answer, CallOptions } from '../support/api.js'
import { cardService, gate } from '../support/scenes/card-service.js'
import { guest, newCheckout, newShop, withCard } from '../support/scenes/checkout.js'
import { advance, expectProblem } from '../support/scenes/market.js'
import { again } from '../support/scenes/transfers.js'
import { newPayer, newSession, type Payer } from '../support/scenes/world.js'

const BAD = 'pm_card_chargeDeclined'

async function prepared(played: Parameters<typeof cardService>[0] = {}) {
  const running = await cardService(played)
  const { call } = running
  const shop = await newShop(call, 'https://api.example.test/story')
  await newSession(call, shop.payer.email)
  const topUp = ({ token, hostname }: Pick<Payer, 'token' | 'hostname'>, method = BAD) =>
    call('POST', `/v4/twin/${hostname}/topup`, { token, body: { amount: 5, payment_method_id: method } })
  const payLink = async (payer: CallOptions, method = BAD) =>
    withCard(call, await newCheckout(call, shop), payer, method)
  const billing = (token: string, method: string, path: string, body: object) =>
    call(method, `/v4/billing${path}`, { token, body })
  return { ...running, shop, topUp, payLink, billing }
}

const declined = async (times: number, ask: () => Promise<Answer>) => {
  for (let n = 0; n < times; n++) expectProblem(await ask(), 402, 'card_declined')
}

test("refuses a user's eleventh card on top-ups, and says when to retry", async () => {
  const { call, shop, topUp, asked } = await prepared()
  const { payer } = shop
  await declined(9, () => topUp(payer))
  await advance(call, '5m')
  await declined(1, () => topUp(payer))
  const refused = await topUp(payer, 'pm_card_visa')
  expectProblem(refused, 429, 'too_many_declines')
  expect(refused.headers.get('retry-after')).toBe('600')
  expect(refused.body.error).toBe(
    'Too many cards were declined in the last 15 minutes. This card was not charged. Try again in 600 seconds.',
  )
  expect(asked).toHaveLength(10)
  expect((await topUp(await newPayer(call, shop.seller), 'pm_card_visa')).status).toBe(201)
  await advance(call, '10m')
  expect((await topUp(await again(call, payer), 'pm_card_visa')).status).toBe(201)
})

test('counts the cards of a user over all links and top-ups together', async () => {
  const { call, shop, topUp, payLink, asked } = await prepared()
  const { payer } = shop
  const session = { session: await newSession(call, payer.email) }
  await declined(4, () => payLink(session))
  await declined(3, () => payLink({ token: payer.token }))
  await declined(3, () => topUp(payer))
  for (const ask of [() => payLink(session), () => payLink({ token: payer.token }), () => topUp(payer)])
    expectProblem(await ask(), 429, 'too_many_declines')
  expect(asked).toHaveLength(10)
})

test('lets guests try at most 100 cards with one seller, over all sessions and links', async () => {
  const { call, shop, payLink, asked } = await prepared()
  await declined(100, async () => payLink(await guest(call)))
  const refused = await payLink(await guest(call), 'pm_card_visa')
  expectProblem(refused, 429, 'too_many_declines')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(asked).toHaveLength(100)
  // Who signs in still pays, and guests of another seller do.
  const user = { session: await newSession(call, shop.payer.email) }
  expect((await payLink(user, 'pm_card_visa')).status).toBe(200)
  const other = await newShop(call, 'https://api.example.test/story')
  expect((await withCard(call, await newCheckout(call, other), await guest(call))).status).toBe(200)
  await advance(call, '15m')
  expect((await withCard(call, await newCheckout(call, await renewed(call, shop)), await guest(call))).status).toBe(200)
})

const renewed = async (call: Parameters<typeof again>[0], { seller, item }: Awaited<ReturnType<typeof newShop>>) => ({
  seller: await again(call, seller),
  item,
})

test('counts the cards of an account together: on file, for a plan, for an invoice and on top-ups', async () => {
  const { call, shop, topUp, billing, asked } = await prepared()
  const { token } = shop.seller
  const { hostname } = shop.item
  const onFile = () => billing(token, 'PUT', '/card', { payment_method_id: BAD })
  const forPlan = (method = BAD) => billing(token, 'PUT', '/plan', { plan: 'growth', payment_method_id: method })
  await declined(3, onFile)
  await declined(3, () => forPlan())
  await declined(2, () => topUp({ token, hostname }))
  // Is put on file, and declined when it is charged.
  await declined(2, () => forPlan('pm_card_chargeCustomerFail'))
  for (const ask of [onFile, () => forPlan('pm_card_visa'), () => topUp({ token, hostname })])
    expectProblem(await ask(), 429, 'too_many_declines')
  expect(asked).toHaveLength(4)
  await advance(call, '15m')
  expect(
    (
      await billing((await again(call, shop.seller)).token, 'PUT', '/plan', {
        plan: 'growth',
        payment_method_id: 'pm_card_visa',
      })
    ).status,
  ).toBe(200)
})

test('lets an account try ten cards on an invoice, and still charges the card on file', async () => {
  const { call, shop, billing, service, asked } = await prepared()
  const ask = async (method: string, path: string, body: object) =>
    billing((await again(call, shop.seller)).token, method, path, body)
  expect((await ask('PUT', '/plan', { plan: 'growth', payment_method_id: 'pm_card_visa' })).status).toBe(200)
  expect((await ask('PUT', '/card', { payment_method_id: 'pm_card_chargeCustomerFail' })).status).toBe(200)
  await service.sandbox.advance('32d')
  const { invoices } = (await call('GET', '/v4/billing/invoices', { token: (await again(call, shop.seller)).token }))
    .body
  const pay = () => ask('POST', `/invoices/${invoices[0].id}/pay`, { payment_method_id: BAD })
  await declined(10, pay)
  expectProblem(await pay(), 429, 'too_many_declines')
  const before = asked.length
  await service.sandbox.advance('12d')
  expect(asked.length).toBeGreaterThan(before)
})

test('lets forty cards at once reach at most twice the limit', async () => {
  const let_ = gate()
  const { shop, topUp, asked } = await prepared({
    async charge() {
      await let_.opened
      return { status: 'declined', reason: 'stolen' }
    },
  })
  const tries = Promise.all(Array.from({ length: 40 }, () => topUp(shop.payer)))
  await expect.poll(() => asked.length).toBe(20)
  let_.open()
  const answers = await tries
  expect(answers.filter(({ status }) => status === 402)).toHaveLength(20)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(20)
  expect(refused[0]?.headers.get('retry-after')).toBe('5')
  for (const answer of refused) expectProblem(answer, 429, 'too_many_charges')
  expectProblem(await topUp(shop.payer), 429, 'too_many_declines')
  expect(asked).toHaveLength(20)
})

test('does not count charged cards, nor failures of the processor', async () => {
  const { call, shop, topUp, payLink } = await prepared()
  for (let n = 0; n < 12; n++) {
    expect((await topUp(shop.payer, 'pm_card_visa')).status).toBe(201)
    expectProblem(await topUp(shop.payer, 'pm_processor_down'), 502, 'processor_failed')
  }
  expect((await payLink(await guest(call), 'pm_card_visa')).status).toBe(200)
})

test('refuses the eleventh card on the page of a link, and says when to retry', async () => {
  const { call, shop } = await prepared()
  const link = await newCheckout(call, shop)
  const reader = await guest(call)
  const form = (payment_method_id: string) => ({ answer: 'card', payment_method_id })
  const send = (method: string) =>
    call('POST', `/checkout/${link.token}`, { ...reader, form: form(method), headers: { accept: 'text/html' } })
  for (let n = 0; n < 10; n++) expect((await send(BAD)).status).toBe(402)
  const refused = await send('pm_card_visa')
  expect(refused.status).toBe(429)
  expect(refused.text).toContain('Too many cards were declined.')
})
