import { expect, test } from 'vitest'
import { systemAlarm } from '../../src/base/ports.js'
import { type Cards, createService } from '../../src/index.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import { type Call, caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import {
  guest,
  type Link,
  makeCheckout,
  newShop,
  readCheckout,
  type Shop,
  settled,
  statusOf,
  withCard,
} from '../support/scenes/checkout.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { again } from '../support/scenes/transfers.js'

/** A shop that delivers, or does not, and a guest's link, while the clock stands still, by a processor that is changed as the test needs it. */
async function prepared(changed: (cards: Cards) => Partial<Cards>, { delivers = true } = {}) {
  const known = testProcessor({ alarm: systemAlarm })
  const service = createService({
    sandbox: true,
    cards: { ...known, ...changed(known) },
    upstream: { fetch: async () => new Response('The story.', { status: delivers ? 200 : 503 }) },
    log: { error() {} },
  })
  await service.sandbox.setClock({ mode: 'manual' })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const shop = await newShop(call, 'https://api.example.test/story')
  const made = await makeCheckout(call, shop, {}, await guest(call))
  return { service, call, shop, link: made.body as Link, reader: await guest(call) }
}

const failed = howMuch(50, 1000)

test(`a card charge that succeeds after ${failed} failed tries is made once, and pays`, async () => {
  const charged: string[] = []
  const { service, call, shop, link, reader } = await prepared((known) => ({
    async charge(charge) {
      const result = await known.charge(charge)
      if (result.status === 'succeeded') charged.push(charge.id)
      return result
    },
  }))
  const other = await guest(call)
  for (let tries = 0; tries < failed; tries++) await withCard(call, link, other, 'pm_processor_down')
  expect((await withCard(call, link, reader)).status).toBe(200)
  expect(charged).toHaveLength(1)
  expect(await statusOf(call, link)).toBe('paid')
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  await service.close()
})

const nobody = async (): Promise<never> => {
  throw new Error('nobody is there')
}

/** What the seller is told of a checkout by events of that type. */
async function toldOf(call: Call, { seller }: Shop, type: string): Promise<any[]> {
  const { token } = await again(call, seller)
  return (await call('GET', `/v4/events?type=${type}`, { token })).body.events
}

const afresh = async (call: Call, { payer, seller, item }: Shop): Promise<Shop> => ({
  ...{ payer: await again(call, payer), seller: await again(call, seller), item },
})

test('an abandoned charge ends the attempt, and the seller learns which charge it was', async () => {
  const asked: string[] = []
  const { service, call, shop, link, reader } = await prepared(() => ({
    charge: ({ id }) => {
      asked.push(id)
      return nobody()
    },
  }))
  expectProblem(await withCard(call, link, reader), 502, 'processor_failed')
  expect(await statusOf(call, link)).toBe('paying')
  await service.sandbox.advance('5d')
  // Its time is over meanwhile.
  expectProblem(await readCheckout(call, link), 410, 'checkout_expired')
  expect(new Set(asked).size).toBe(1)
  expect(await toldOf(call, shop, 'checkout.charge_lost')).toMatchObject([
    { actor: 'service', subject: `checkout:${link.id}`, data: { unknown_charge: asked[0] } },
  ])
  expect(await settled(call, await afresh(call, shop))).toEqual({ seller: 0, payer: 10, issued: 10 })
  await service.close()
})

test('the value of an abandoned refund stays held, and the seller learns which refund it was', async () => {
  const asked: string[] = []
  const refund: Cards['refund'] = ({ id }) => {
    asked.push(id)
    return nobody()
  }
  const { service, call, shop, link, reader } = await prepared(() => ({ refund }), { delivers: false })
  expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
  await service.sandbox.advance('6d')
  expectProblem(await readCheckout(call, link), 410, 'checkout_expired')
  expect(new Set(asked).size).toBe(1)
  expect(await toldOf(call, shop, 'checkout.refund_lost')).toMatchObject([
    { data: { unknown_refund: asked[0], charge_id: expect.stringMatching(/^ch_test_checkout_/) } },
  ])
  const { digital_quantities } = await expectSoundLedger(call)
  expect(digital_quantities[0]).toMatchObject({ issued: 12, held: 2 })
  await service.close()
})

test('a top-up with an abandoned charge fails, and its owner learns which charge it was', async () => {
  const { service, call, shop } = await prepared(() => ({ charge: nobody }))
  const { token, hostname } = shop.payer
  const body = { amount: 5, payment_method_id: 'pm_card_visa' }
  const unknown = await call('POST', `/v4/twin/${hostname}/topup`, { token, body })
  expect(unknown.body).toMatchObject({ code: 'processor_failed', outcome: 'unknown' })
  await service.sandbox.advance('5d')
  const payer = await again(call, shop.payer)
  const payment = await call('GET', `/v4/payments/${unknown.body.payment_id}`, { token: payer.token })
  expect(payment.body.status).toBe('failed')
  const { events } = (await call('GET', '/v4/events?type=payment.failed', { token: payer.token })).body
  expect(events).toMatchObject([{ data: { unknown_charge: expect.stringMatching(/^topup_[0-9a-f]{32}$/) } }])
  expect(await settled(call, await afresh(call, shop))).toMatchObject({ payer: 10, issued: 10 })
  await service.close()
})
