import { expect, test, vi } from 'vitest'
import { caller } from '../support/api.js'
import { cardService, gate } from '../support/scenes/card-service.js'
import { guest, newCheckout, newItem, withCard } from '../support/scenes/checkout.js'
import { advance, expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { again } from '../support/scenes/transfers.js'
import { newPayer, newReader, newSeller, newSession, type Payer } from '../support/scenes/world.js'

const BAD = 'pm_card_chargeDeclined'
const GOOD = 'pm_card_visa'

type Running = Awaited<ReturnType<typeof cardService>>

const topUp = ({ call }: Pick<Running, 'call'>, { token, hostname }: Payer, method: string, amount = 5) =>
  call('POST', `/v4/twin/${hostname}/topup`, { token, body: { amount, payment_method_id: method } })

test('users that an account makes try ten declined cards together, and stop nobody else', async () => {
  const running = await cardService()
  const { call, asked } = running
  const maker = await newSeller(call)
  const proven = await newReader(call, maker)
  for (let n = 0; n < 10; n++)
    expectProblem(await topUp(running, await newPayer(call, maker), BAD), 402, 'card_declined')
  expectProblem(await topUp(running, await newPayer(call, maker), GOOD), 429, 'too_many_declines')
  expect(asked).toHaveLength(10)
  expect((await topUp(running, await again(call, proven), GOOD)).status).toBe(201)
  expect((await topUp(running, await newPayer(call, await newSeller(call)), GOOD)).status).toBe(201)
})

test('users that an account makes share its declines at links too', async () => {
  const running = await cardService()
  const { call, asked } = running
  const [maker, seller] = [await newSeller(call), await newSeller(call)]
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 5 })
  const pay = async ({ token }: Payer, method: string) =>
    withCard(call, await newCheckout(call, { seller, item }), { token }, method)
  for (let n = 0; n < 10; n++) expectProblem(await pay(await newPayer(call, maker), BAD), 402, 'card_declined')
  expectProblem(await pay(await newPayer(call, maker), GOOD), 429, 'too_many_declines')
  expect(asked).toHaveLength(10)
  expect((await pay(await newPayer(call, seller), GOOD)).status).toBe(200)
  expect((await withCard(call, await newCheckout(call, { seller, item }), await guest(call))).status).toBe(200)
})

/** Calls as a machine at this address makes them. */
const from = ({ service }: Running, peerAddress: string) =>
  caller({ url: service.baseUrl, fetch: (request) => service.respond(request, { peerAddress }) })

const page = { headers: { accept: 'text/html' } }

test('guests of one network try ten declined cards, and stop no other guest of the seller', async () => {
  const running = await cardService()
  const { call, asked } = running
  const seller = await newSeller(call)
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 5 })
  const pay = async (ask: typeof call, method: string) =>
    withCard(ask, await newCheckout(call, { seller, item }), await guest(ask), method)
  // All addresses of an IPv6 network are one.
  const thief = (n: number) => from(running, `2606:4700::${n + 1}`)
  for (let n = 0; n < 10; n++) expectProblem(await pay(thief(n), BAD), 402, 'card_declined')
  for (let n = 10; n < 110; n++) expectProblem(await pay(thief(n), GOOD), 429, 'too_many_declines')
  const link = await newCheckout(call, { seller, item })
  const form = { answer: 'card', payment_method_id: GOOD }
  const shown = await thief(0)('POST', `/checkout/${link.token}`, { ...(await guest(thief(0))), ...page, form })
  expect([shown.status, asked.length]).toEqual([429, 10])
  expect((await pay(from(running, '2606:4700:0:1::1'), GOOD)).status).toBe(200)
  expect((await pay(from(running, '9.9.9.9'), GOOD)).status).toBe(200)
  // Those whose address says nothing have the limit of all guests.
  for (let n = 0; n < 20; n++) expectProblem(await pay(from(running, '10.0.0.7'), BAD), 402, 'card_declined')
})

test('guests of one network hold twenty charges without an outcome, and stop no other guest of the seller', async () => {
  const running = await cardService({ charge: () => new Promise<never>(() => {}), limits: { cardMs: 5 } })
  const { call, service } = running
  const seller = await newSeller(call)
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 5 })
  const pay = async (address: string) => {
    const ask = from(running, address)
    return withCard(ask, await newCheckout(call, { seller: await again(call, seller), item }), await guest(ask))
  }
  const answers: number[] = []
  for (let n = 0; n < 24; n++) {
    answers.push((await pay('8.8.8.8')).status)
    if (n % 8 === 7) await advance(call, '61s')
  }
  expect(answers).toEqual([...Array<number>(20).fill(502), ...Array<number>(4).fill(429)])
  expect((await service.sandbox.snapshot()).rows.reservations).toHaveLength(20)
  expectProblem(await pay('9.9.9.9'), 502, 'processor_failed')
})

test('no charge reserves so much that it stops the cards of others', async () => {
  const let_ = gate()
  const running = await cardService({
    async charge({ id }) {
      await let_.opened
      return { status: 'succeeded', charge_id: `ch_${id}` }
    },
  })
  const { call, asked } = running
  const [attacker, other] = [await newPayer(call, await newSeller(call)), await newPayer(call, await newSeller(call))]
  for (const amount of [9e12, 4e12, 10_000.01]) {
    const refused = await topUp(running, attacker, GOOD, amount)
    expectProblem(refused, 400, 'amount_invalid')
    expect(refused.body.error).toContain('at most 10000.00 USD')
  }
  expect(asked).toHaveLength(0)
  const largest = topUp(running, attacker, GOOD, 10_000)
  await vi.waitUntil(() => asked.length === 1)
  const others = topUp(running, other, GOOD, 10_000)
  await vi.waitUntil(() => asked.length === 2)
  let_.open()
  expect((await largest).status).toBe(201)
  expect((await others).status).toBe(201)
  await expectSoundLedger(call)
})

test('offers no card for a price above the largest charge', async () => {
  const { call, asked } = await cardService()
  const seller = await newSeller(call)
  const dear = await newItem(call, seller, 'https://api.example.test/story', { price: 10_001 })
  const link = await newCheckout(call, { seller, item: dear })
  const reader = await guest(call)
  const page = await call('GET', `/checkout/${link.token}`, { ...reader, headers: { accept: 'text/html' } })
  expect(page.text).not.toContain('payment_method_id')
  expectProblem(await withCard(call, link, reader), 400, 'amount_invalid')
  expect(asked).toHaveLength(0)
})

test('an option sets the largest charge', async () => {
  const running = await cardService({ limits: { cardAmount: 7 } })
  const payer = await newPayer(running.call, await newSeller(running.call))
  expectProblem(await topUp(running, payer, GOOD, 7.01), 400, 'amount_invalid')
  expect((await topUp(running, payer, GOOD, 7)).status).toBe(201)
})

test('charges that stay without an outcome hold twenty reservations of their maker at most', async () => {
  const running = await cardService({ charge: () => new Promise<never>(() => {}), limits: { cardMs: 5 } })
  const { call, service } = running
  const maker = await newSeller(call)
  const answers: number[] = []
  for (let n = 0; n < 24; n++) {
    answers.push((await topUp(running, await newPayer(call, maker), GOOD)).status)
    // A try that takes longer than a minute is no pending one any more, but what it reserved still is.
    if (n % 8 === 7) await advance(call, '61s')
  }
  expect(answers).toEqual([...Array<number>(20).fill(502), ...Array<number>(4).fill(429)])
  const refused = await topUp(running, await newPayer(call, maker), GOOD)
  expectProblem(refused, 429, 'too_many_charges')
  expect((await service.sandbox.snapshot()).rows.reservations).toHaveLength(20)
  // Whoever has caused none is charged.
  expectProblem(await topUp(running, await newPayer(call, await newSeller(call)), GOOD), 502, 'processor_failed')
  await expectSoundLedger(call)
})

test('every operation that tries a card refuses one while twenty charges of its caller have no outcome', async () => {
  const let_ = gate()
  const played: { isHeld: boolean } = { isHeld: false }
  const running = await cardService({
    async charge({ id, payment_method_id }) {
      if (played.isHeld) await let_.opened
      if (payment_method_id === 'pm_card_chargeCustomerFail') return { status: 'declined', reason: 'stolen' }
      return { status: 'succeeded', charge_id: `ch_${id}` }
    },
  })
  const { call, asked, service } = running
  const seller = await newSeller(call)
  const buyer = await newReader(call, seller)
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 5 })
  const ask = async (method: string, path: string, body: object) =>
    call(method, `/v4/billing${path}`, { token: (await again(call, seller)).token, body })
  expect((await ask('PUT', '/plan', { plan: 'growth', payment_method_id: GOOD })).status).toBe(200)
  expect((await ask('PUT', '/card', { payment_method_id: 'pm_card_chargeCustomerFail' })).status).toBe(200)
  await service.sandbox.advance('32d')
  const { token } = await again(call, seller)
  const { invoices } = (await call('GET', '/v4/billing/invoices', { token })).body
  played.isHeld = true
  const held = async (payer: Payer) => {
    const before = asked.length
    const tries = Array.from({ length: 20 }, () => topUp(running, payer, GOOD))
    await vi.waitUntil(() => asked.length === before + 20)
    return tries
  }
  const [own, user] = [{ ...buyer, token, hostname: item.hostname }, await again(call, buyer)]
  const open = [...(await held(own)), ...(await held(user))]
  const form = { answer: 'card', payment_method_id: GOOD }
  const session = await newSession(call, buyer.email)
  const fresh = await newCheckout(call, { seller: { ...seller, token }, item })
  for (const refused of [
    await topUp(running, own, GOOD),
    await ask('PUT', '/card', { payment_method_id: GOOD }),
    await ask('PUT', '/plan', { plan: 'growth', payment_method_id: GOOD }),
    await ask('POST', `/invoices/${invoices[0].id}/pay`, { payment_method_id: GOOD }),
    await topUp(running, user, GOOD),
    await withCard(call, fresh, { token: user.token }),
    await call('POST', `/checkout/${fresh.token}`, { session, body: form }),
  ])
    expectProblem(refused, 429, 'too_many_charges')
  const shown = await call('POST', `/checkout/${fresh.token}`, {
    ...page,
    session,
    form,
  })
  expect(shown.status).toBe(429)
  expect(shown.text).toContain('Too many cards are being charged now.')
  let_.open()
  for (const answer of await Promise.all(open)) expect(answer.status).toBe(201)
  await expectSoundLedger(call)
})
