import { expect, test } from 'vitest'
import type { CardRefund, Cards, RefundResult } from '../../src/index.js'
import type { Answer } from '../support/api.js'
import { cardService } from '../support/scenes/card-service.js'
import { guest, newCheckout, newShop, withCard } from '../support/scenes/checkout.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { again } from '../support/scenes/transfers.js'
import { newSeller, newSession } from '../support/scenes/world.js'

const SELLER = 'owner@example.test'
const refused = async (_order: CardRefund): Promise<RefundResult> => ({ status: 'refused', reason: 'too long ago' })
const lost = async (_order: CardRefund): Promise<RefundResult> => {
  throw new Error('nobody is there')
}

/** A link that expired after a card was charged for it, and whose refund did not reach the card. */
async function unrefunded({ refund = refused, by = 'guest' as 'guest' | 'user' } = {}) {
  const processor: Pick<Cards, 'refund'> = { refund }
  const running = await cardService({
    upstream: { fetch: async () => new Response('', { status: 503 }) },
    refund: (order) => processor.refund(order),
  })
  const { call, service } = running
  const shop = await newShop(call, 'https://api.example.test/story')
  await call('PUT', '/v4/billing/profile', { token: shop.seller.token, body: { billing_email: SELLER } })
  const link = await newCheckout(call, shop, { email: 'ada@example.test' })
  const reader = by === 'guest' ? await guest(call) : { session: await newSession(call, shop.payer.email) }
  expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
  await service.sandbox.advance('6d')
  const { token } = await again(call, shop.seller)
  const list = async () => (await call('GET', '/v4/checkout/refunds', { token })).body.refunds as any[]
  const [waiting] = await list()
  const settle = (outcome: string, caller: object = { token }): Promise<Answer> =>
    call('POST', `/v4/checkout/refunds/${waiting.id}/settle`, { ...caller, body: { outcome } })
  const sums = async () => {
    const { digital_quantities } = await expectSoundLedger(call)
    const [{ issued, held }] = digital_quantities
    return { issued, held }
  }
  const mails = async (to: string) =>
    (await service.sandbox.outbox({ to, kind: 'mail' })).messages.filter(({ subject }) => subject.startsWith('Refund'))
  return { ...running, processor, shop, link, token, waiting, list, settle, sums, mails }
}

test('a refused refund of a guest is reported to the seller, by event and mail, and to the address of the link', async () => {
  const { call, service, link, token, waiting, mails, sums } = await unrefunded()
  const { events } = (await call('GET', '/v4/events?type=checkout.refund_refused', { token })).body
  expect(events).toMatchObject([
    {
      subject: `checkout:${link.id}`,
      data: { reason: 'too long ago', refund: waiting.id, charge_id: waiting.charge_id },
    },
  ])
  expect(waiting).toMatchObject({
    ...{ checkout_id: link.id, name: 'A story', amount: 2, status: 'refused', reason: 'too long ago' },
    ...{ payer: 'guest', email: 'ada@example.test' },
  })
  expect(await mails('ada@example.test')).toMatchObject([{ subject: 'Refund of 2.00 USD failed' }])
  expect((await service.sandbox.outbox({ kind: 'refund' })).messages).toMatchObject([{ status: 'failed' }])
  const [toSeller] = await mails(SELLER)
  expect(toSeller?.text).toContain(`/v4/checkout/refunds/${waiting.id}/settle`)
  expect(await sums()).toEqual({ issued: 12, held: 0 })
})

test('a refused refund of a user is reported to the user, whoever made the link', async () => {
  const { call, shop, mails } = await unrefunded({ by: 'user' })
  const { token } = await again(call, shop.payer)
  const { events } = (await call('GET', '/v4/events?type=checkout.refund_refused', { token })).body
  expect(events).toMatchObject([{ data: { reason: 'too long ago' } }])
  expect(await mails(shop.payer.email)).toHaveLength(1)
  expect(await mails('ada@example.test')).toEqual([])
})

test('a refund that was returned in another way is settled once, and removes its value', async () => {
  const { settle, sums, list, mails } = await unrefunded()
  expect((await settle('returned')).body).toMatchObject({ outcome: 'returned' })
  expect(await sums()).toEqual({ issued: 10, held: 0 })
  for (const outcome of ['returned', 'wallet', 'again']) expectProblem(await settle(outcome), 409, 'refund_settled')
  expect(await list()).toEqual([])
  expect(await sums()).toEqual({ issued: 10, held: 0 })
  expect((await mails('ada@example.test')).map(({ text }) => text).join()).toContain('have your money back')
})

test('twenty settlements at once move the value once', async () => {
  const { settle, sums } = await unrefunded({ by: 'user' })
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => settle(n % 2 ? 'wallet' : 'returned')))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const { issued, held } = await sums()
  expect([[10, 12].includes(issued), held]).toEqual([true, 0])
})

test('only the seller sees or settles a refund', async () => {
  const { call, shop, settle, sums } = await unrefunded({ by: 'user' })
  const other = await newSeller(call)
  const payer = await again(call, shop.payer)
  const session = await newSession(call, shop.payer.email)
  expect((await call('GET', '/v4/checkout/refunds', { token: other.token })).body.refunds).toEqual([])
  expectProblem(await settle('wallet', { token: other.token }), 404, 'not_found')
  for (const caller of [{ token: payer.token }, { session }]) {
    expect((await settle('wallet', caller)).status).toBeGreaterThanOrEqual(401)
    expect((await call('GET', '/v4/checkout/refunds', caller)).status).toBeGreaterThanOrEqual(401)
  }
  expectProblem(await settle('wallet', {}), 401, 'authorization_missing')
  expect(await sums()).toEqual({ issued: 12, held: 0 })
})

test("a refund moves to the payer's own wallet, never to the seller's, and never to a guest's", async () => {
  const asUser = await unrefunded({ by: 'user' })
  expect((await asUser.settle('wallet')).status).toBe(200)
  const { token } = await again(asUser.call, asUser.shop.payer)
  const twin = (await asUser.call('GET', `/v4/twin/${asUser.shop.payer.hostname}`, { token })).body
  expect(Object.values(twin.balances)).toEqual([12])
  expect(await asUser.sums()).toEqual({ issued: 12, held: 0 })
  const asGuest = await unrefunded()
  expectProblem(await asGuest.settle('wallet'), 409, 'refund_outcome_refused')
  expect(await asGuest.sums()).toEqual({ issued: 12, held: 0 })
  expect(await asGuest.list()).toHaveLength(1)
})

test('a retried refund has a new id, and the processor returns the money once', async () => {
  const { processor, service, settle, refunds, sums, list } = await unrefunded()
  processor.refund = async ({ id }) => ({ status: 'refunded', refund_id: `re_${id}` })
  expect((await settle('again')).status).toBe(200)
  await service.sandbox.advance('1s')
  expect(refunds).toHaveLength(2)
  expect(new Set(refunds).size).toBe(2)
  expect(await sums()).toEqual({ issued: 10, held: 0 })
  expect(await list()).toEqual([])
})

test('a refund with an unknown outcome is credited to nobody, and a retry has the same id', async () => {
  const { processor, service, settle, refunds, sums, waiting } = await unrefunded({ refund: lost, by: 'user' })
  expect(waiting.status).toBe('unknown')
  expectProblem(await settle('wallet'), 409, 'refund_outcome_refused')
  expect(await sums()).toEqual({ issued: 12, held: 2 })
  processor.refund = async ({ id }) => ({ status: 'refunded', refund_id: `re_${id}` })
  expect((await settle('again')).status).toBe(200)
  await service.sandbox.advance('1s')
  expect(new Set(refunds).size).toBe(1)
  expect(await sums()).toEqual({ issued: 10, held: 0 })
})

test('a refund that reached the card is settled as returned', async () => {
  const { settle, sums, token } = await unrefunded({ refund: lost })
  const key = { token, headers: { 'idempotency-key': 'once' } }
  const first = await settle('returned', key)
  const replay = await settle('returned', key)
  expect([first.status, replay.body, replay.headers.get('idempotent-replayed')]).toEqual([200, first.body, 'true'])
  expect(await sums()).toEqual({ issued: 10, held: 0 })
})
