import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, fund } from '../../support/scenes/market.js'
import { newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

contract('explainRequest', (start) => {
  it('says what was so at that moment, also when it is another now', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { hash } = await newCommodity(call, seller, { cost: 0.25 })
    const payer = await newPayer(call, seller, { balance: 0.1 })
    const pay = () => call('POST', `/v4/payment/${hash}`, { token: payer.token, body: {} })
    const refused = await pay()
    await fund(call, payer.hostname, 5)
    const paid = await pay()
    const explain = async ({ headers }: typeof paid) =>
      (await call('GET', `/_sandbox/requests/${headers.get('x-request-id')}/explain`)).body
    expect(await explain(refused)).toMatchObject({
      entry: { operation_id: 'createPayment', status: 402, principal: `user:${payer.id}` },
      facts: { payer: { balance: 0.1, spendable: 0.1 }, cost: 0.25, missing: 0.15 },
      fix: { operation_id: 'fundTwin', example: { body: { hostname: payer.hostname, amount: 0.15 } } },
    })
    const { verdict, facts, fix } = await explain(paid)
    expect(verdict).toBe('createPayment succeeded with 202.')
    expect(facts.caused).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'movement', from: payer.hostname, amount: 0.25, state: 'posted' }),
        expect.objectContaining({ kind: 'event', type: 'payment.created' }),
      ]),
    )
    expect(fix).toBeNull()
  })

  it('refuses an id that no entry has', async () => {
    const { call } = await start()
    expectProblem(await call('GET', '/_sandbox/requests/req_none_0000001/explain'), 404, 'not_found')
  })
})
