import { expect, test, vi } from 'vitest'
import { type CardToSave, createService } from '../../src/index.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import { chargeOf, countingCards, handAlarm, never, prepared, started } from '../support/scenes/card-processors.js'
import { expectProblem } from '../support/scenes/market.js'
import { newSeller } from '../support/scenes/world.js'

test('the test processor repeats its first answer for each id, and answers the slow card after five seconds', async () => {
  const { alarm, rings, ring } = handAlarm()
  const { charge } = testProcessor({ alarm })
  const declined = { status: 'declined', reason: 'expired card' }
  expect(await charge(chargeOf('a', 'pm_card_expired'))).toEqual(declined)
  expect(await charge(chargeOf('a', 'pm_card_visa'))).toEqual(declined)
  const slow = [charge(chargeOf('b', 'pm_processor_slow')), charge(chargeOf('b', 'pm_processor_slow'))]
  expect(rings.map(({ ms }) => ms)).toEqual([5000])
  ring(5000)
  const [first, second] = await Promise.all(slow)
  expect(first).toMatchObject({ status: 'succeeded', charge_id: 'ch_test_b' })
  expect(second).toEqual(first)
})

test('a slow charge within cardMs succeeds', async () => {
  const { alarm, ring, rings } = handAlarm()
  const { service, payer, topUp, held } = await prepared({ alarm })
  const topup = topUp(payer, 'pm_processor_slow')
  await vi.waitUntil(() => rings.some(({ ms }) => ms === 5000))
  ring(5000)
  expect((await topup).status).toBe(201)
  expect(await held()).toBe(5)
  expect(rings.filter(({ ms }) => ms === 20_000)).toEqual([])
  await service.close()
})

test('a card is put on file only by a processor that says so, and the log says why not', async () => {
  const down = new Error('the connection broke')
  const answers = ['down', 'perhaps', 'nothing'] as const
  const save = async ({ payment_method_id }: CardToSave) => {
    if (payment_method_id === 'down') throw down
    return (payment_method_id === 'perhaps' ? { status: 'perhaps' } : undefined) as never
  }
  const { call, service, errors } = await started({ sandbox: true, cards: { charge: never, refund: never, save } })
  const { token } = await newSeller(call)
  for (const payment_method_id of answers)
    expectProblem(
      await call('PUT', '/v4/billing/card', { token, body: { payment_method_id } }),
      502,
      'processor_failed',
    )
  expect(errors).toEqual(answers.map(() => expect.stringMatching(/^card card_\w{32} could not be put on file$/)))
  expect((await call('GET', '/v4/billing', { token })).body.card).toBeNull()
  await service.close()
})

test('the test processor puts a card on file that it knows, also if its charges fail', async () => {
  const { save } = testProcessor({ alarm: handAlarm().alarm })
  const saved = async (payment_method_id: string) => save({ id: `card_${payment_method_id}`, payment_method_id })
  for (const kept of ['pm_card_visa', 'pm_card_chargeCustomerFail'])
    expect(await saved(kept)).toMatchObject({ status: 'saved', payment_method_id: kept })
  expect(await saved('pm_card_expired')).toEqual({ status: 'declined', reason: 'expired card' })
  expect(await saved('pm_of_nobody')).toEqual({ status: 'declined', reason: 'unknown payment method' })
  expect(await saved('pm_processor_down')).toEqual({ status: 'unavailable' })
})

test('a sandbox lists the payment methods of its own processor, and points to those of any other', async () => {
  const own = createService({ sandbox: true })
  const other = createService({ sandbox: true, cards: countingCards() })
  expect(own.sandbox.testValues.note).toContain('Any other payment method is declined.')
  expect(other.sandbox.testValues).toMatchObject({
    payment_methods: [],
    note: expect.stringContaining('the test values of your card processor'),
  })
  for (const service of [own, other]) await service.close()
})
