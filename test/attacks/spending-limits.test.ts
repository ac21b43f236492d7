import { describe, expect, it } from 'vitest'
import { attacked } from '../support/scenes/attacked.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { paymentHeaders } from '../support/scenes/paywall.js'
import { newSpending } from '../support/scenes/spending.js'
import { useUpstream } from '../support/scenes/upstream.js'

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
