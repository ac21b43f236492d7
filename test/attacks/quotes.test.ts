import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../runtimes/in-process.js'
import type { Running } from '../runtimes/runtime.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { changeItem, newShop, purchase, type Shop, settledSums } from '../support/catalog.js'
import { makeCheckout } from '../support/checkout.js'
import { expectProblem } from '../support/market.js'
import { startUpstream, type TestUpstream } from '../support/upstream.js'

/** Sellers who change a price between the moment it is seen and the moment it is paid. */

let upstream: TestUpstream
beforeAll(async () => {
  upstream = await startUpstream()
})
afterAll(() => upstream.close())

let running: Running | undefined
afterEach(() => running?.close())

async function start(fields: object = {}): Promise<Shop & { call: Call }> {
  running = await inProcess.start()
  const call = caller(running)
  const open = { service_schema: { type: 'object' }, external_endpoint: `${upstream.url}/ok` }
  return { call, ...(await newShop(call, { ...open, ...fields })) }
}

const ANOTHER_DQ = `41${'0'.repeat(64)}`

const pay = (call: Call, { payer, item }: Shop, body: object, headers: Record<string, string> = {}) =>
  call('POST', `/v4/payment/${item.commodity_hash}`, { token: payer.token, body, headers })

function expectPriceChanged(answer: Answer, price: number, dq: string): void {
  expectProblem(answer, 409, 'price_changed')
  expect([answer.body.price, answer.body.dq]).toEqual([price, dq])
}

describe('a payment', () => {
  it('a seller cannot charge more than the payer saw', async () => {
    const { call, ...shop } = await start()
    const { dq } = shop.item
    expect((await pay(call, shop, { cost: 0.25, dq })).status).toBe(202)
    await changeItem(call, shop.seller, shop.item, { price: 5 })
    expectPriceChanged(await pay(call, shop, { cost: 0.25, dq }), 5, dq)
    expectPriceChanged(await pay(call, shop, { cost: 0.25 }), 5, dq)
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
    expect((await pay(call, shop, { cost: 5, dq })).status).toBe(202)
  })

  it('a seller cannot charge for what was free when it was shown', async () => {
    const { call, ...shop } = await start({ price: 0 })
    await changeItem(call, shop.seller, shop.item, { price: 1.5 })
    expectPriceChanged(await pay(call, shop, { cost: 0, dq: shop.item.dq }), 1.5, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })

  it('a seller cannot charge the same number of another digital quantity', async () => {
    const { call, ...shop } = await start()
    expectPriceChanged(await pay(call, shop, { cost: 0.25, dq: ANOTHER_DQ }), 0.25, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })

  it('the spelling of a price makes no other price of it, and no price of what is none', async () => {
    const { call, ...shop } = await start()
    for (const cost of [0.25, '0.25', '0.250', '00.25']) expect((await pay(call, shop, { cost })).status).toBe(202)
    const raw = '{"cost": 2.50e-1}'
    const spelled = await call('POST', `/v4/payment/${shop.item.commodity_hash}`, {
      ...{ token: shop.payer.token, raw, headers: { 'content-type': 'application/json' } },
    })
    expect(spelled.status).toBe(202)
    const form = { cost: '0.250', dq: shop.item.dq }
    const formed = await call('POST', `/v4/payment/${shop.item.commodity_hash}`, { token: shop.payer.token, form })
    expect(formed.status).toBe(202)
    for (const cost of ['', ' ', '0x0', '-0.25', '1e-1', '∞', null, [0.25], true])
      expectProblem(await pay(call, shop, { cost }), 400, 'field_invalid')
    expectPriceChanged(await pay(call, shop, { cost: 0.2500001 }), 0.25, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([8.5, 1.5])
  })

  it('a quote is read by every version of the interface', async () => {
    const { call, ...shop } = await start()
    const old = `/v2/payment/${shop.item.commodity_hash}`
    expectPriceChanged(await call('POST', old, { token: shop.payer.token, body: { cost: 0.2 } }), 0.25, shop.item.dq)
  })
})

describe('a purchase', () => {
  it('a seller cannot charge more than the buyer saw, nor in another digital quantity', async () => {
    const { call, ...shop } = await start()
    const buy = (body: object) => purchase(call, { token: shop.payer.token }, shop.item, body)
    await changeItem(call, shop.seller, shop.item, { price: 5 })
    upstream.requests.length = 0
    expectPriceChanged(await buy({ price: 0.25, dq: shop.item.dq }), 5, shop.item.dq)
    expectPriceChanged(await buy({ price: '0.25' }), 5, shop.item.dq)
    expectPriceChanged(await buy({ price: 5, dq: ANOTHER_DQ }), 5, shop.item.dq)
    expectPriceChanged(await buy({ dq: ANOTHER_DQ }), 5, shop.item.dq)
    expect([await settledSums(call, shop), upstream.requests]).toEqual([[10, 0], []])
    expect((await buy({ price: '5.00', dq: shop.item.dq })).status).toBe(201)
  })
})

describe('a checkout', () => {
  it('a link cannot charge another price than its payer saw', async () => {
    const { call, ...shop } = await start()
    const link = (await makeCheckout(call, shop, { arguments: {} })).body
    const complete = (body: object) =>
      call('POST', `/v4/checkout/${link.token}/complete`, { token: shop.payer.token, body })
    expectPriceChanged(await complete({ price: 0.2, dq: link.dq }), 0.25, link.dq)
    expectPriceChanged(await complete({ price: link.price, dq: ANOTHER_DQ }), 0.25, link.dq)
    const card = { payment_method_id: 'pm_card_visa' }
    expectPriceChanged(await complete({ ...card, price: 0.5 }), 0.25, link.dq)
    expect((await call('GET', '/_sandbox/outbox?kind=card')).body.messages).toEqual([])
    expect(await settledSums(call, shop)).toEqual([10, 0])
    expect((await complete({ price: '0.25', dq: link.dq })).body.receipt.amount).toBe(0.25)
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
  })
})
