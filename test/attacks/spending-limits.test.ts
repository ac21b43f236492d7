import { describe, expect, it } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import type { Answer } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { addItem, newCart, newItem, payCart } from '../support/scenes/carts.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { paymentHeaders } from '../support/scenes/paywall.js'
import { newSpending } from '../support/scenes/spending.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newTwin } from '../support/scenes/world.js'

/** Parties that try to spend more than a delegate's limit. */

const upstream = useUpstream()
const start = attacked()

describe('a delegate with a limit in points', () => {
  it('pays points, never the same number of dollars', async () => {
    const { call, allow, pay, paid, dqs } = await newSpending(start)
    const delegate = await allow(dqs.PTS, 100)
    const answer = await pay(delegate, { amount: 100 })
    expect([answer.status, answer.body.payment?.dq]).toEqual([200, dqs.PTS])
    expect(await paid()).toEqual({ [dqs.USD]: 0, [dqs.PTS]: 100, [dqs.G]: 0 })
    expectProblem(await pay(delegate, { amount: 1 }), 403, 'delegate_refused')
    expectProblem(await pay(delegate, { amount: 1, dq: dqs.USD }), 403, 'delegate_refused')
    await expectSoundLedger(call)
  })

  it('gets back what was counted and no more when an endpoint fails', async () => {
    const { allow, pay, paid, dqs } = await newSpending(start)
    const delegate = await allow(dqs.PTS, 5)
    for (let i = 0; i < 2; i++) {
      const failed = await pay(delegate, { amount: 5, serviceUrl: `${upstream.url}/status/500` })
      expect(paymentHeaders(failed).status).toBe('reversed')
    }
    expectProblem(await pay(delegate, { amount: 6 }), 403, 'delegate_refused')
    expectProblem(await pay(delegate, { amount: 5000 }), 403, 'delegate_refused')
    expect((await pay(delegate, { amount: 5 })).status).toBe(200)
    expect(await paid()).toEqual({ [dqs.USD]: 0, [dqs.PTS]: 5, [dqs.G]: 0 })
  })
})

type Spending = Awaited<ReturnType<typeof newSpending>>

/** Every operation that takes a delegate: pays one of this quantity by it. */
const spends: Readonly<Record<string, (spending: Spending, dq: string, persona_delegate: string) => Promise<Answer>>> =
  {
    async createPayment({ call, shop, spender }, dq, persona_delegate) {
      const { id: twin_id } = await newTwin(call, shop.token)
      const sold = { descriptor: 'STORY', dq, cost: 1, twin_id }
      const { hash } = (await call('POST', '/v4/commodity', { token: shop.token, body: sold })).body
      return call('POST', `/v4/payment/${hash}`, { token: spender.token, body: { persona_delegate } })
    },
    async createPurchase({ call, shop, spender }, dq, persona_delegate) {
      const { id } = await newItem(call, shop, { price: 1, dq, external_endpoint: `${upstream.url}/ok` })
      const body = { arguments: {}, persona_delegate }
      return call('POST', `/v4/catalog/items/${id}/purchases`, { token: spender.token, body })
    },
    callPaywall: ({ pay }, dq, delegate) => pay(delegate, { amount: 1, dq }),
    async payCart({ call, shop, spender: { token } }, dq, persona_delegate) {
      const { id } = await newItem(call, shop, { price: 1, dq, external_endpoint: `${upstream.url}/ok` })
      const cart = await newCart(call, { token })
      await addItem(call, { token }, cart, { catalog_item_id: id })
      return payCart(call, { token }, cart, { persona_delegate })
    },
  }

describe('a delegate', () => {
  it.each(Object.entries(spends))(
    'spends no other quantity than its own, of fewer or more decimals: %s',
    async (_, spend) => {
      const spending = await newSpending(start)
      const { call, allow, paid, dqs } = spending
      const own = Object.values(dqs)
      for (const dq of own) {
        const delegate = await allow(dq, 1)
        for (const other of own.filter((each) => each !== dq))
          expectProblem(await spend(spending, other, delegate), 403, 'delegate_refused')
        expect((await paid())[dq]).toBe(0)
        expect((await spend(spending, dq, delegate)).status).toBeLessThan(300)
        expectProblem(await spend(spending, dq, delegate), 403, 'delegate_refused')
      }
      expect(await paid()).toEqual({ [dqs.USD]: 1, [dqs.PTS]: 1, [dqs.G]: 1 })
      await expectSoundLedger(call)
    },
  )

  it('is in this table for every operation that takes one', () => {
    const taking = routeList.filter(({ body }) => body && 'shape' in body && 'persona_delegate' in Object(body.shape))
    expect(Object.keys(spends).sort()).toEqual(taking.map(({ id }) => id).sort())
  })
})
