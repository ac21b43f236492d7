import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { stripeCards } from '../../adapters/stripe.js'
import type { CardCharge } from '../../src/index.js'
import { chargeOf, idOf, refundOf, saveOf } from '../support/scenes/cards-contract.js'
import { HOUR, useStripe } from '../support/stripe/stripe.js'

const started = useStripe()

describe('a key', () => {
  const live = [
    'sk_live_51Secret',
    'rk_live_51Secret',
    'pk_test_51Secret',
    'whsec_Secret',
    ' sk_test_51Secret',
    'sk_test_',
  ]

  test.each([...live, undefined as never])('that is not of the test mode is refused without a call: %s', (apiKey) => {
    const refused = () => stripeCards({ apiKey })
    expect(refused).toThrow(TypeError)
    expect(refused).toThrow(/begins with sk_test_ or rk_test_\.$/)
    expect(refused).toThrow(expect.objectContaining({ message: expect.not.stringContaining('Secret') }))
  })

  test('with only the permissions that are needed is accepted', () => {
    expect(Object.keys(stripeCards({ apiKey: 'rk_test_51Secret' }))).toEqual(['save', 'charge', 'refund'])
  })

  test('and the data of a card never show, even if Stripe repeats them', async () => {
    const { stripe, cards } = await started()
    const wrong = stripeCards({ ...stripe.options, apiKey: 'sk_test_51Wrong' })
    const rejected = await wrong.charge(chargeOf('pm_card_visa')).catch((error: Error) => error)
    expect(inspect(rejected, { depth: null })).toMatch(/Invalid API Key provided: … \(StripeAuthenticationError, 401/)
    const error = { message: 'Sorry!', payment_intent: { client_secret: 'pi_1_secret_2', last4: '4242' } }
    stripe.fail('confirm', { status: 409, error })
    const told = inspect(await cards.charge(chargeOf('pm_card_visa')).catch((error: Error) => error), { depth: null })
    expect(told).toContain('Sorry! (StripeAPIError, 409')
    for (const text of [told, inspect([wrong, cards], { depth: null })])
      expect(text).not.toMatch(/Wrong|Fake|secret|4242/)
  })
})

describe('an amount', () => {
  const amountSent = async (fields: Partial<CardCharge>) => {
    const { stripe, cards } = await started()
    const result = await cards.charge(chargeOf('pm_card_visa', fields))
    return stripe.requests.find(({ operation }) => operation === 'create')?.params.amount ?? result
  }

  test.each([
    ['5.00 USD', { amount: '5000', decimals: 3, currency: 'USD' }, '500'],
    ['0.57 USD', { amount: '57', decimals: 2, currency: 'USD' }, '57'],
    ['7 EUR', { amount: '7', decimals: 0, currency: 'EUR' }, '700'],
    [
      'more than a float can count',
      { amount: '90071992547409910000000', decimals: 9, currency: 'USD' },
      '9007199254740991',
    ],
    ['500 JPY, which has no hundredths', { amount: '50000', decimals: 2, currency: 'JPY' }, '500'],
    ['5.12 KWD, which has thousandths', { amount: '512', decimals: 2, currency: 'KWD' }, '5120'],
    ['5 ISK, which Stripe counts in hundredths', { amount: '500', decimals: 2, currency: 'ISK' }, '500'],
  ])("uses Stripe's units: %s", async (_, fields, sent) => expect(await amountSent(fields)).toBe(sent))

  test.each([
    ['a tenth of a cent', { amount: '5001', decimals: 3, currency: 'USD' }],
    ['half a yen', { amount: '50', decimals: 2, currency: 'JPY' }],
    ['a thousandth of a dinar', { amount: '5001', decimals: 3, currency: 'KWD' }],
    ['a hundredth of a shilling', { amount: '501', decimals: 2, currency: 'UGX' }],
    ['nothing', { amount: '0', decimals: 2, currency: 'USD' }],
    ['less', { amount: '-500', decimals: 2, currency: 'USD' }],
    ['a fraction', { amount: '5.5', decimals: 2, currency: 'USD' }],
    ['more than a float can count', { amount: '9007199254740993', decimals: 2, currency: 'USD' }],
  ])('that no card can be charged is declined without a call to Stripe: %s', async (_, fields) => {
    expect(await amountSent(fields)).toEqual({ status: 'declined', reason: 'cards are not charged such an amount' })
  })

  test('that Stripe refuses is declined', async () => {
    const { cards } = await started()
    const little = await cards.charge(chargeOf('pm_card_visa', { amount: '100' }))
    expect(little).toEqual({ status: 'declined', reason: 'refused by Stripe, amount too small' })
    const points = await cards.charge(chargeOf('pm_card_visa', { currency: 'POINTS' }))
    expect(points).toEqual({ status: 'declined', reason: 'refused by Stripe' })
  })
})

describe('a refund', () => {
  async function charged(): Promise<Awaited<ReturnType<typeof started>> & { charge: CardCharge; charge_id: string }> {
    const running = await started()
    const charge = chargeOf('pm_card_visa')
    return { ...running, charge, charge_id: idOf(await running.cards.charge(charge)) }
  }

  test('whose answer is lost is found by a call a moment later, and by one three days later', async () => {
    for (const later of [0, 23 * HOUR, 25 * HOUR, 72 * HOUR]) {
      const { stripe, cards, charge, charge_id } = await charged()
      const refund = refundOf(charge, charge_id)
      stripe.fail('refund', 'lost')
      await expect(cards.refund(refund)).rejects.toThrow('StripeConnectionError')
      stripe.clock.now += later
      expect(await cards.refund(refund)).toEqual({ status: 'refunded', refund_id: stripe.refunds[0]?.id })
      expect(stripe.refunds).toMatchObject([{ amount: 500, charge: charge_id, status: 'succeeded' }])
    }
  })

  test.each(['refunds', 'refund'] as const)('that fails in any way is paid once in the end: %s', async (operation) => {
    for (const fault of ['lost', 'limited', 'broken', 'broken after'] as const) {
      const { stripe, cards, charge, charge_id } = await charged()
      const refund = refundOf(charge, charge_id)
      stripe.fail(operation, fault)
      await expect(cards.refund(refund)).rejects.toThrow('Stripe: ')
      stripe.clock.now += 25 * HOUR
      expect(await cards.refund(refund)).toMatchObject({ status: 'refunded' })
      expect(stripe.refunds).toHaveLength(1)
    }
  })

  test('is not paid again after a refund by hand', async () => {
    const { stripe, cards, charge, charge_id } = await charged()
    const [first, second] = ['200', '300'].map((amount) => stripe.createRefund({ charge: charge_id, amount }))
    expect(await cards.refund(refundOf(charge, charge_id))).toEqual({ status: 'refunded', refund_id: second?.id })
    expect(stripe.refunds).toEqual([first, second])
  })

  test('that Stripe refuses is refused, and one that exceeds the balance is retried', async () => {
    const { stripe, cards, charge, charge_id } = await charged()
    const refund = refundOf(charge, charge_id)
    const message = 'Insufficient funds in your Stripe balance to refund this amount.'
    stripe.fail('refund', { status: 400, error: { message, code: 'balance_insufficient' } })
    await expect(cards.refund(refund)).rejects.toThrow(message)
    Object.assign(stripe.charges.get(charge_id) as object, { disputed: true })
    expect(await cards.refund(refund)).toEqual({ status: 'refused', reason: 'refused by Stripe, charge disputed' })
    const unknown = { status: 'refused', reason: 'refused by Stripe, resource missing' }
    expect(await cards.refund(refundOf(charge, 'ch_unknown'))).toEqual(unknown)
    const part = await cards.refund(refundOf({ ...charge, amount: '5001' }, charge_id))
    expect(part).toEqual({ status: 'refused', reason: 'cards are not refunded such an amount' })
    expect(stripe.refunds).toEqual([])
  })

  test('that the bank returns is refused', async () => {
    const { stripe, cards, charge, charge_id } = await charged()
    const refund = refundOf(charge, charge_id)
    await cards.refund(refund)
    Object.assign(stripe.refunds[0] as object, { status: 'failed', failure_reason: 'expired_or_canceled_card' })
    expect(await cards.refund(refund)).toEqual({ status: 'refused', reason: 'expired or canceled card' })
  })
})

describe('a card on file', () => {
  test('belongs to its own Customer and is charged only for that one', async () => {
    const { stripe, cards } = await started()
    const saved = await cards.save(saveOf('pm_card_visa'))
    expect(saved).toMatchObject({ payment_method_id: expect.stringMatching(/^cus_\w+:pm_\w+$/) })
    const [customer, method] = (saved as { payment_method_id: string }).payment_method_id.split(':') as [string, string]
    await cards.charge(chargeOf(`${customer}:${method}`, { on_file: true }))
    expect(stripe.charged()).toHaveLength(1)
    expect([...stripe.intents.values()]).toMatchObject([{ customer, payment_method: method }])
    for (const other of [method, `cus_other:${method}`])
      for (const on_file of [false, true])
        expect(await cards.charge(chargeOf(other, { on_file }))).toMatchObject({ status: 'declined' })
    // Who is charged by a name of one's own has no card on file by it.
    const named = await cards.charge(chargeOf(`${customer}:${method}`))
    expect(named).toEqual({ status: 'declined', reason: 'unknown payment method' })
    expect(stripe.charged()).toHaveLength(1)
  })

  test('is not stored if its bank wants to ask its holder, or if it was charged before', async () => {
    const { stripe, cards } = await started()
    const asked = await cards.save(saveOf('pm_card_authenticationRequired'))
    expect(asked).toEqual({ status: 'declined', reason: 'authentication required' })
    await cards.charge(chargeOf('pm_card_visa'))
    const used = [...stripe.intents.values()][0]?.payment_method
    expect(await cards.save(saveOf(used))).toEqual({ status: 'declined', reason: 'refused by Stripe' })
  })

  test('is stored once although the answer is lost', async () => {
    const { stripe, cards } = await started()
    const card = saveOf('pm_card_visa')
    for (const operation of ['customer', 'setup'] as const) {
      stripe.fail(operation, 'lost')
      await expect(cards.save(card)).rejects.toThrow('StripeConnectionError')
    }
    const saved = await cards.save(card)
    expect(await cards.save(card)).toEqual(saved)
  })
})
