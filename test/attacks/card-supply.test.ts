import { expect, test, vi } from 'vitest'
import { SCHEMA } from '../../src/migrations/schema.js'
import type { State } from '../../src/storage/storage.js'
import { cardService, fastAlarm, gate, sharedStorage } from '../support/scenes/card-service.js'
import { guest, newCheckout, newItem, withCard } from '../support/scenes/checkout.js'
import { expectProblem, expectSoundLedger, fund } from '../support/scenes/market.js'
import { again } from '../support/scenes/transfers.js'
import { balanceOf, newPayer, newSeller, type Payer } from '../support/scenes/world.js'

/** What is issued of a quantity with three decimals, as it is shown, where so much is left of all that can be. */
const issuedBut = (left: number): number => Number(`${BigInt(Number.MAX_SAFE_INTEGER) - BigInt(left * 1000)}e-3`)

type Running = Awaited<ReturnType<typeof cardService>>

const topUp = ({ call }: Pick<Running, 'call'>, { token, hostname }: Payer, amount: number, method = 'pm_card_visa') =>
  call('POST', `/v4/twin/${hostname}/topup`, { token, body: { amount, payment_method_id: method } })

/** A payer, and a supply of which `left` can still be issued. */
async function prepared(left: number, played: Parameters<typeof cardService>[0] = {}) {
  const running = await cardService(played)
  const payer = await newPayer(running.call, await newSeller(running.call))
  const full = await newPayer(running.call, await newSeller(running.call))
  for (const amount of [4e12, 4e12, 1_007_199_254_740.991 - left])
    expect((await fund(running.call, full.hostname, Math.round(amount * 1000) / 1000)).status).toBe(200)
  return { ...running, payer, full }
}

/** A processor that charges once it is let. */
function slow() {
  const let_ = gate()
  const charge = async ({ id }: { id: string }) => {
    await let_.opened
    return { status: 'succeeded', charge_id: `ch_${id}` } as const
  }
  return { charge, open: let_.open }
}

test('charges no card for supply that is reserved for a different charge', async () => {
  const { charge, open } = slow()
  const running = await prepared(7, { charge })
  const { call, payer, asked } = running
  const first = topUp(running, payer, 5)
  await vi.waitUntil(() => asked.length === 1)
  expectProblem(await topUp(running, payer, 5), 400, 'amount_invalid')
  open()
  expect((await first).status).toBe(201)
  expect(asked).toHaveLength(1)
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(5)
  expect((await topUp(running, payer, 2)).status).toBe(201)
  await expectSoundLedger(call)
})

test('issues to nobody the supply that a pending charge has reserved', async () => {
  const { charge, open } = slow()
  const running = await prepared(7, { charge })
  const { call, payer, full, asked } = running
  const first = topUp(running, payer, 5)
  await vi.waitUntil(() => asked.length === 1)
  expectProblem(await fund(call, full.hostname, 2.001), 400, 'amount_invalid')
  expect((await fund(call, full.hostname, 2)).status).toBe(200)
  // It is not issued before the card is charged.
  expect((await expectSoundLedger(call)).digital_quantities[0].issued).toBe(issuedBut(5))
  open()
  expect((await first).status).toBe(201)
  expect((await expectSoundLedger(call)).digital_quantities[0].issued).toBe(issuedBut(0))
})

test('reserves the value of a charge for a checkout too', async () => {
  const { charge, open } = slow()
  const running = await prepared(3, { charge })
  const { call, payer, full, asked } = running
  const seller = await newSeller(call)
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 3 })
  const link = await newCheckout(call, { seller, item })
  const paying = withCard(call, link, await guest(call))
  await vi.waitUntil(() => asked.length === 1)
  expectProblem(await fund(call, full.hostname, 1), 400, 'amount_invalid')
  expectProblem(await topUp(running, payer, 1), 400, 'amount_invalid')
  open()
  expect((await paying).status).toBe(200)
  await expectSoundLedger(call)
})

test.each(['pm_card_chargeDeclined', 'pm_processor_down'])('%s reserves no supply', async (method) => {
  const running = await prepared(5)
  expect((await topUp(running, running.payer, 5, method)).status).toBeGreaterThan(400)
  expect((await topUp(running, running.payer, 5)).status).toBe(201)
  await expectSoundLedger(running.call)
})

test('frees the supply of a charge that the service gave up', async () => {
  let isThere = false
  const running = await prepared(5, {
    charge: async ({ id }) => {
      if (!isThere) throw new Error('nobody is there')
      return { status: 'succeeded', charge_id: `ch_${id}` }
    },
  })
  expectProblem(await topUp(running, running.payer, 5), 502, 'processor_failed')
  await running.service.sandbox.advance('5d')
  isThere = true
  const payer = await again(running.call, running.payer)
  expect((await topUp(running, payer, 5)).status).toBe(201)
  await expectSoundLedger(running.call)
})

test('keeps a reservation after its process dies', async () => {
  const storage = sharedStorage(true)
  const dead = await prepared(5, { storage, charge: () => new Promise<never>(() => {}), limits: { cardMs: 50 } })
  expectProblem(await topUp(dead, dead.payer, 5), 502, 'processor_failed')
  const next = await cardService({ storage })
  expectProblem(await topUp(next, dead.payer, 1), 400, 'amount_invalid')
  expectProblem(await fund(next.call, dead.full.hostname, 1), 400, 'amount_invalid')
  await next.service.sandbox.advance('1m')
  expect(await balanceOf(next.call, dead.payer.token, dead.payer.hostname)).toBe(5)
  await expectSoundLedger(next.call)
})

/** A state of today in which nothing is reserved. A migration would reserve what it can. */
function withoutReservations({ counters, rows }: State): State {
  const { reservations, ...others } = rows
  const balances = (rows.balances ?? []).map((row) => {
    const { reserved, ...balance } = row as typeof row & { reserved?: string }
    return balance
  })
  return { schema: SCHEMA, counters, rows: { ...others, balances } }
}

/** A pending charge for which nothing is reserved; it is taken over by a service whose processor answers. */
async function takenOver(left: number, played: Parameters<typeof cardService>[0] = {}) {
  const old = await prepared(left, { charge: () => new Promise<never>(() => {}), limits: { cardMs: 50 } })
  expectProblem(await topUp(old, old.payer, 5), 502, 'processor_failed')
  const running = await cardService(played)
  await running.service.sandbox.restore(withoutReservations(await old.service.sandbox.snapshot()))
  return { ...running, payer: old.payer, full: old.full }
}

test('issues the value of a pending charge for which nothing is reserved', async () => {
  const { service, call, payer } = await takenOver(5)
  await expectSoundLedger(call)
  await service.sandbox.advance('1m')
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(5)
  await expectSoundLedger(call)
})

test('a settlement that throws stops neither the clock nor other work, and finally waits for an operator', async () => {
  const { service, call, payer, full, asked } = await takenOver(5)
  expect((await fund(call, full.hostname, 5)).status).toBe(200)
  const other = await newPayer(call, await newSeller(call))
  await call('POST', '/v4/session/code', { body: { email: other.email } })
  for (const advance of ['1m', '10m', '5d'])
    expect((await call('POST', '/_sandbox/clock', { body: { advance } })).status).toBe(200)
  expect((await service.sandbox.outbox({ to: other.email })).messages[0]?.status).toBe('sent')
  // The processor has said what it did: it is not asked again.
  expect(asked).toHaveLength(1)
  const { dead_letters: letters } = (await call('GET', '/_sandbox/dead-letters')).body
  expect(letters).toMatchObject([
    { id: expect.stringMatching(/^message:\d+$/), kind: 'card', subject: 'Charge 5.00 USD' },
  ])
  expect(await service.deadLetters.list()).toHaveLength(1)
  const { token } = await again(call, payer)
  const { events } = (await call('GET', '/v4/events?type=payment.unsettled', { token })).body
  expect(events).toMatchObject([{ actor: 'service', data: { unsettled: letters[0].id } }])
  // Emptying the inbox forgets no charge.
  await service.sandbox.emptyOutbox()
  const retry = `/_sandbox/dead-letters/${letters[0].id}/retry`
  expect((await call('POST', retry)).status).toBe(204)
  await service.sandbox.advance('1s')
  expect(await service.deadLetters.list()).toHaveLength(1)
  expect(asked).toHaveLength(1)
  for (const id of ['message:999', 'message:2', 'timer:1', 'nothing'])
    expectProblem(await call('POST', `/_sandbox/dead-letters/${id}/retry`), 404, 'not_found')
  await expectSoundLedger(call)
})

test('settles a charge that waits for an operator after supply arrives, and charges the card once', async () => {
  const { service, call, payer, asked } = await takenOver(5, {
    upstream: { fetch: async () => new Response('', { status: 503 }) },
    refund: async () => ({ status: 'refused', reason: 'too long ago' }),
  })
  // A guest's card takes the last of the supply, which waits in their checkout, as nothing is delivered and nothing can be refunded.
  const seller = await newSeller(call)
  const item = await newItem(call, seller, 'https://api.example.test/story', { price: 5 })
  const link = await newCheckout(call, { seller, item })
  expectProblem(await withCard(call, link, await guest(call)), 502, 'upstream_failed')
  await service.sandbox.advance('6d')
  const [parked] = await service.deadLetters.list()
  expect(parked).toMatchObject({ kind: 'card' })
  const { token } = await again(call, seller)
  const { refunds } = (await call('GET', '/v4/checkout/refunds', { token })).body
  const settle = `/v4/checkout/refunds/${refunds[0].id}/settle`
  expect((await call('POST', settle, { token, body: { outcome: 'returned' } })).status).toBe(200)
  await service.deadLetters.retry(parked?.id ?? '')
  await service.sandbox.advance('1s')
  expect(await service.deadLetters.list()).toEqual([])
  expect(await balanceOf(call, (await again(call, payer)).token, payer.hostname)).toBe(5)
  // Once for the top-up, once for the guest.
  expect(asked).toHaveLength(2)
  await expectSoundLedger(call)
})

test('a mail server that never answers delays neither the clock nor other work', async () => {
  const running = await cardService({
    mailer: { send: () => new Promise<never>(() => {}) },
    alarm: fastAlarm,
  })
  const { call, payer } = { ...running, payer: await newPayer(running.call, await newSeller(running.call)) }
  await call('POST', '/v4/session/code', { body: { email: payer.email } })
  expect((await call('POST', '/_sandbox/clock', { body: { advance: '1m' } })).status).toBe(200)
  expect((await topUp(running, payer, 5)).status).toBe(201)
  await vi.waitUntil(() => running.logged.some((line) => line.includes('could not be sent')))
})
