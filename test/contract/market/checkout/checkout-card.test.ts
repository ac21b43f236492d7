import { expect, it } from 'vitest'
import type { CallOptions } from '../../../support/api.js'
import { contract, type Start } from '../../../support/contract/contract.js'
import { prepared as preparedWith } from '../../../support/contract/prepared.js'
import {
  cardMessages,
  changeItem,
  complete,
  guest,
  newCheckout,
  newShop,
  readCheckout,
  type Sold,
  settled,
  statusOf,
  withCard,
} from '../../../support/scenes/checkout.js'
import { advance, expectProblem, expectSoundLedger, setClock, stopClock } from '../../../support/scenes/market.js'
import { again, DAY } from '../../../support/scenes/transfers.js'
import { useUpstream } from '../../../support/scenes/upstream.js'
import { newPayer, newSession } from '../../../support/scenes/world.js'

const upstream = useUpstream()

const failing = 'status/503/x'

/** A shop, a link to what it sells, and a guest, while the clock stands still. */
const opened = preparedWith(async (call, { path, sold }: { path: string; sold?: Sold }) => {
  const at = await stopClock(call)
  const shop = await newShop(call, `${upstream.url}/${path}`, sold)
  const link = await newCheckout(call, shop, { email: 'ada@example.test' })
  return { at, shop, link, reader: await guest(call) }
})

async function prepared(
  start: Start,
  { path = 'ok', sold, options }: { path?: string; sold?: Sold; options?: Parameters<Start>[0] } = {},
) {
  const running = await opened(start, { path, ...(sold && { sold }) }, options)
  const { call, shop } = running
  upstream.requests.length = 0
  return {
    ...running,
    seller: shop.seller,
    deliverBy: (path: string) => changeItem(call, shop, { external_endpoint: `${upstream.url}/${path}` }),
  }
}

contract('completeCheckout, by card', (start) => {
  it('POST /v4/checkout/{token}/complete charges the card of a guest and returns the receipt', async () => {
    const { call, shop, link, reader } = await prepared(start)
    const paid = await withCard(call, link, reader)
    expect(paid.status).toBe(200)
    expect(paid.body).toMatchObject({ status: 'paid', receipt: { amount: 2, status: 'paid', name: 'A story' } })
    expect(JSON.parse(paid.body.receipt.response.body)).toEqual({ story: 'The whole story.' })
    expect(await cardMessages(call, 'card')).toMatchObject([
      { to: 'ada@example.test', subject: 'Charge 2.00 USD', text: expect.stringContaining('STORY'), status: 'sent' },
    ])
    // What is issued is what was charged; the seller has all of it.
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
    expect(upstream.requests).toHaveLength(1)
  })

  it('returns the receipt again to the same guest, and to no other', async () => {
    const { call, shop, link, reader } = await prepared(start)
    const first = await withCard(call, link, reader)
    for (const method of ['pm_card_visa', 'pm_card_mastercard', 'pm_card_expired'])
      expect((await withCard(call, link, reader, method)).body).toEqual(first.body)
    expectProblem(await withCard(call, link, await guest(call)), 409, 'checkout_paid')
    expectProblem(await withCard(call, link, {}), 409, 'checkout_paid')
    expectProblem(await complete(call, link, shop.payer), 409, 'checkout_paid')
    expect((await readCheckout(call, link)).body.receipt).toMatchObject({ status: 'paid', response: { body: null } })
    expect(await cardMessages(call, 'card')).toHaveLength(1)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, issued: 12 })
  })

  it('lets a user pay by card too, who owns the purchase and keeps their balance', async () => {
    const { call, shop, link } = await prepared(start)
    const { payer } = shop
    const paid = await withCard(call, link, { session: await newSession(call, payer.email) })
    expect(paid.status).toBe(200)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
    const { id, path } = { id: paid.body.receipt.transaction_id, path: '/v4/purchases' }
    const token = (await again(call, payer)).token
    expect((await call('GET', `${path}/${id}`, { token })).body).toEqual(paid.body.receipt)
    expect((await cardMessages(call, 'card'))[0].to).toBe(payer.email)
  })

  it.each([
    ['pm_card_chargeDeclined', 402, 'card_declined', 'declined by the bank'],
    ['pm_card_chargeDeclinedInsufficientFunds', 402, 'card_declined', 'insufficient funds'],
    ['pm_card_expired', 402, 'card_declined', 'expired card'],
    ['pm_unknown', 402, 'card_declined', 'unknown payment method'],
    ['pm_processor_down', 502, 'processor_failed', 'Nothing was charged'],
  ] as const)('%s charges nothing, says so, and leaves the link unpaid', async (method, status, code, reason) => {
    const { call, shop, link, reader } = await prepared(start)
    const refused = await withCard(call, link, reader, method)
    expectProblem(refused, status, code)
    expect(refused.body.error).toContain(reason)
    expect([await statusOf(call, link), upstream.requests]).toEqual(['unpaid', []])
    expect(await settled(call, shop)).toEqual({ seller: 0, payer: 10, issued: 10 })
    expect((await withCard(call, link, reader)).status).toBe(200)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('a link allows ten declined cards in 15 minutes: 429 too_many_declines, with Retry-After', async () => {
    const { call, shop, link, reader } = await prepared(start)
    for (let tries = 0; tries < 5; tries++) {
      expectProblem(await withCard(call, link, reader, 'pm_card_expired'), 402, 'card_declined')
      // That was no card that was declined.
      expectProblem(await withCard(call, link, reader, 'pm_processor_down'), 502, 'processor_failed')
      await advance(call, '1m')
      expectProblem(await withCard(call, link, await guest(call), 'pm_card_chargeDeclined'), 402, 'card_declined')
    }
    for (const caller of [reader, await guest(call)]) {
      const refused = await withCard(call, link, caller)
      expectProblem(refused, 429, 'too_many_declines')
      expect(refused.headers.get('retry-after')).toBe(String(10 * 60))
    }
    expect(await statusOf(call, link)).toBe('unpaid')
    expect((await withCard(call, await newCheckout(call, shop), reader)).status).toBe(200)
    await advance(call, '10m')
    expect((await withCard(call, link, reader)).status).toBe(200)
    expect(await settled(call, shop)).toEqual({ seller: 4, payer: 10, issued: 14 })
  })

  it.each([0, 0.001, 0.499, 0.501, 1.999])('charges no card for %d: 422 card_minimum', async (price) => {
    const { call, shop, link, reader } = await prepared(start, { sold: { price } })
    expectProblem(await withCard(call, link, reader), 422, 'card_minimum')
    expect([await statusOf(call, link), await cardMessages(call, 'card')]).toEqual(['unpaid', []])
    expect((await complete(call, link, shop.payer)).status).toBe(200)
  })

  it.each([0.5, 0.51, 100])('charges a card for %d', async (price) => {
    const { call, shop, link, reader } = await prepared(start, { sold: { price } })
    expect((await withCard(call, link, reader)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: price, issued: 10 + price })
  })

  it('charges no card for more than can be issued: 400 amount_invalid', async () => {
    const { call, shop, link, reader } = await prepared(start, { sold: { price: 9007199254740 } })
    expectProblem(await withCard(call, link, reader), 400, 'amount_invalid')
    expect([await statusOf(call, link), await cardMessages(call, 'card')]).toEqual(['unpaid', []])
    expect(await settled(call, shop)).toMatchObject({ issued: 10 })
  })

  it('refuses card numbers', async () => {
    const { call, link, reader, state } = await prepared(start)
    for (const number of ['4242424242424242', '4242 4242 4242 4242', '5555-5555-5555-4444'])
      for (const body of [{ payment_method_id: number }, { payment_method_id: 'pm_card_visa', card: { number } }])
        expectProblem(await complete(call, link, reader, body), 400, 'card_data_refused')
    expect(JSON.stringify(await state())).not.toMatch(/4242\D?4242|5555\D?5555/)
    expect(await cardMessages(call, 'card')).toEqual([])
  })

  it('keeps the charge for the next attempt if nothing is delivered, and charges no card again', async () => {
    const { call, shop, link, reader, deliverBy } = await prepared(start, { path: failing })
    for (let tries = 0; tries < 3; tries++) {
      const refused = await withCard(call, link, reader)
      expectProblem(refused, 502, 'upstream_failed')
      expect(refused.body.error).toContain('your card is not charged a second time')
      expect(await statusOf(call, link)).toBe('unpaid')
      expect(await settled(call, shop)).toEqual({ seller: 0, payer: 10, issued: 12 })
    }
    await deliverBy('ok')
    // The method is of no account any more.
    expect((await withCard(call, link, reader, 'pm_card_expired')).status).toBe(200)
    expect(await cardMessages(call, 'card')).toHaveLength(1)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
    expect(await cardMessages(call, 'refund')).toEqual([])
  })

  it("charges no card if the seller's hidden parameters are unreadable: 502 parameter_unreadable", async () => {
    const { call, shop, link, reader } = await prepared(start, { path: 'ok/{secret.TENANT}' })
    expectProblem(await withCard(call, link, reader), 502, 'parameter_unreadable')
    expectProblem(await complete(call, link, shop.payer), 502, 'parameter_unreadable')
    expect([await statusOf(call, link), await cardMessages(call, 'card')]).toEqual(['unpaid', []])
  })

  it("does not spend one guest's charge for another", async () => {
    const { call, shop, link, reader, deliverBy } = await prepared(start, { path: failing })
    expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
    await deliverBy('ok')
    const other = await guest(call)
    expectProblem(await withCard(call, link, other, 'pm_card_expired'), 402, 'card_declined')
    expect((await withCard(call, link, other)).status).toBe(200)
    // The one who was charged for nothing has it back.
    await expect.poll(async () => (await cardMessages(call, 'refund')).map(({ status }) => status)).toEqual(['sent'])
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
    expectProblem(await withCard(call, link, reader), 409, 'checkout_paid')
  })

  it('refunds the card if someone else pays from a wallet', async () => {
    const { call, shop, link, reader, deliverBy } = await prepared(start, { path: failing })
    expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
    await deliverBy('ok')
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    await expect.poll(async () => (await cardMessages(call, 'refund')).map(({ status }) => status)).toEqual(['sent'])
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
  })

  it('refunds the card when the link expires', async () => {
    const { call, shop, at, link, reader } = await prepared(start, { path: failing })
    expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
    await setClock(call, at + DAY)
    expectProblem(await withCard(call, link, reader), 410, 'checkout_expired')
    await expect
      .poll(async () => cardMessages(call, 'refund'))
      .toMatchObject([{ to: 'ada@example.test', subject: 'Refund 2.00 USD', status: 'sent', codes: [] }])
    const seller = await again(call, shop.seller)
    expect(await settled(call, { ...shop, seller, payer: await again(call, shop.payer) })).toEqual({
      seller: 0,
      payer: 10,
      issued: 10,
    })
    const { events } = (await call('GET', '/v4/events?limit=100', { token: seller.token })).body
    const told = events.filter(({ subject }: { subject: string }) => subject === `checkout:${link.id}`)
    expect(told.map(({ type }: { type: string }) => type)).toEqual([
      'checkout.refunded',
      'checkout.expired',
      'checkout.created',
    ])
    await setClock(call, at + 3 * DAY)
    expect(await cardMessages(call, 'refund')).toHaveLength(1)
  })

  it('refunds the card if the price changed', async () => {
    const { call, shop, link, reader, deliverBy } = await prepared(start, { path: failing })
    expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
    await deliverBy('ok')
    await changeItem(call, shop, { price: 1 })
    expectProblem(await withCard(call, link, reader), 409, 'price_changed')
    await expect.poll(async () => (await cardMessages(call, 'refund')).map(({ status }) => status)).toEqual(['sent'])
    expect(await settled(call, shop)).toEqual({ seller: 0, payer: 10, issued: 10 })
    // It was given back: a link that can be paid again charges anew.
    await changeItem(call, shop, { price: 2 })
    expect((await withCard(call, link, reader)).status).toBe(200)
    expect(await cardMessages(call, 'card')).toHaveLength(2)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('lets nobody pay while the outcome of a charge is unknown, and uses the charge once it is known', async () => {
    const { call, shop, link, reader } = await prepared(start, { options: { limits: { cardMs: 300 } } })
    const refused = await withCard(call, link, reader, 'pm_processor_slow')
    expectProblem(refused, 502, 'processor_failed')
    expect(refused.body).toMatchObject({ outcome: 'unknown', error: expect.stringContaining('not known yet') })
    expect(await statusOf(call, link)).toBe('paying')
    expectProblem(await withCard(call, link, reader), 409, 'checkout_paying')
    expectProblem(await complete(call, link, shop.payer), 409, 'checkout_paying')
    expect(upstream.requests).toEqual([])
    // The outbox asks again; by then the processor has the answer.
    await new Promise((resolve) => setTimeout(resolve, 5200))
    await advance(call, '5s')
    expect(await statusOf(call, link)).toBe('unpaid')
    expect((await expectSoundLedger(call)).digital_quantities[0].issued).toBe(12)
    expect((await withCard(call, link, reader)).status).toBe(200)
    expect(await cardMessages(call, 'card')).toHaveLength(1)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })
})

contract('Cards at the same moment', (start) => {
  it('30 completions by one guest charge a card once, and return 30 equal receipts', async () => {
    const { call, shop, link, reader } = await prepared(start, { path: 'slow' })
    const answers = await Promise.all(Array.from({ length: 30 }, () => withCard(call, link, reader)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect([(await cardMessages(call, 'card')).length, upstream.requests.length]).toEqual([1, 1])
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('one of several guests and wallets pays, and nobody else is charged', async () => {
    const { call, shop, seller, link } = await prepared(start, { path: 'slow' })
    const payers: CallOptions[] = []
    for (let n = 0; n < 5; n++) payers.push(await newPayer(call, seller, { balance: 2 }), await guest(call))
    const answers = await Promise.all(
      payers.map((payer) => (payer.token ? complete(call, link, payer) : withCard(call, link, payer))),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
    const charged = (await cardMessages(call, 'card')).length
    const { issued, seller: sold } = await settled(call, shop)
    expect([sold, issued]).toEqual([2, 20 + 2 * charged])
    expect(charged).toBeLessThanOrEqual(1)
  })
})
