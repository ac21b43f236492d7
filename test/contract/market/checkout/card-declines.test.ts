import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { newSubscriber } from '../../../support/scenes/billing.js'
import { advance, expectProblem } from '../../../support/scenes/market.js'
import { newTwin } from '../../../support/scenes/world.js'

contract('Declined cards of an account', (start) => {
  it('are limited to ten in 15 minutes over all operations: 429 too_many_declines, with Retry-After', async () => {
    const { call, account } = await newSubscriber(start)
    await account.chosen('growth', 'pm_card_visa')
    expect((await account.ask('PUT', '/card', { payment_method_id: 'pm_card_chargeCustomerFail' })).status).toBe(200)
    await advance(call, '32d')
    const [owed] = (await account.invoices()).filter(({ status }) => status === 'open')
    const onFile = () => account.ask('PUT', '/card', { payment_method_id: 'pm_card_expired' })
    for (let n = 0; n < 10; n++) expectProblem(await onFile(), 402, 'card_declined')
    const { token } = account.seller
    const { hostname } = await newTwin(call, token)
    const body = { amount: 5, payment_method_id: 'pm_card_visa' }
    for (const refused of [
      await onFile(),
      await account.choose('growth', 'pm_card_visa'),
      await account.pay(owed.id, { payment_method_id: 'pm_card_visa' }),
      await call('POST', `/v4/twin/${hostname}/topup`, { token, body }),
    ]) {
      expectProblem(refused, 429, 'too_many_declines')
      expect(refused.headers.get('retry-after')).toBe('900')
    }
    await advance(call, '15m')
    expect((await account.pay(owed.id, { payment_method_id: 'pm_card_visa' })).status).toBe(200)
  })
})
