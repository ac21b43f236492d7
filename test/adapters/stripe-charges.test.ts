import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stripeCards } from '../../adapters/stripe.js'
import type { ChargeResult } from '../../src/index.js'
import { howMuch } from '../support/how-much.js'
import { chargeOf, idOf } from '../support/scenes/cards-contract.js'
import { HOUR, MINUTE, useStripe } from '../support/stripe/stripe.js'
import type { StripeFault, StripeOperation } from '../support/stripe/stripe-fake.js'

const started = useStripe()

const operationsOf = ({ requests }: { requests: { operation: StripeOperation }[] }) =>
  requests.map(({ operation }) => operation)

describe('a charge', () => {
  test('is a PaymentIntent with its id, which is created and confirmed under its own keys', async () => {
    const { stripe, cards } = await started()
    const charge = chargeOf('pm_card_visa', { id: 'topup_1' })
    await cards.charge(charge)
    expect(stripe.requests).toEqual([
      { operation: 'search', key: undefined, params: { query: 'metadata["farthing_charge"]:"topup_1"' } },
      {
        operation: 'create',
        key: 'topup_1',
        params: {
          ...{
            amount: '500',
            currency: 'usd',
            payment_method: 'pm_card_visa',
            'allowed_payment_method_types[0]': 'card',
          },
          ...{ description: charge.description, 'metadata[farthing_charge]': 'topup_1' },
        },
      },
      { operation: 'confirm', key: 'topup_1_confirm', params: { off_session: 'true', 'expand[0]': 'latest_charge' } },
    ])
  })

  test.each([
    ['pm_card_chargeDeclinedStolenCard', 'declined by the bank'],
    ['pm_card_authenticationRequired', 'authentication required'],
  ])('that is declined tells the payer only what they may know: %s', async (method, reason) => {
    const { stripe, cards } = await started()
    const charge = chargeOf(method)
    expect(await cards.charge(charge)).toEqual({ status: 'declined', reason })
    stripe.clock.now += 25 * HOUR
    expect(await cards.charge(charge)).toEqual({ status: 'declined', reason })
  })

  test('whose answer is lost is found by a call a moment later, and by one three days later', async () => {
    for (const later of [1000, 2 * MINUTE, 23 * HOUR, 25 * HOUR, 72 * HOUR]) {
      const { stripe, cards } = await started()
      const charge = chargeOf('pm_card_visa')
      stripe.fail('confirm', 'lost')
      await expect(cards.charge(charge)).rejects.toThrow(/^Stripe: An error occurred with our connection to Stripe/)
      stripe.clock.now += later
      expect(await cards.charge(charge)).toMatchObject({ charge_id: stripe.charged()[0]?.id })
      expect(stripe.charged()).toHaveLength(1)
    }
  })

  test('whose connection is reset is retried at once under the same key', async () => {
    const { stripe, cards } = await started()
    stripe.fail('confirm', 'reset')
    idOf(await cards.charge(chargeOf('pm_card_visa')))
    expect(stripe.charged()).toHaveLength(1)
    expect(operationsOf(stripe)).toEqual(['search', 'create', 'confirm', 'confirm'])
  })

  test('during which Stripe fails is looked up, and cancelled if it did not succeed', async () => {
    const { stripe, cards } = await started()
    stripe.fail('confirm', 'broken after', 'broken')
    idOf(await cards.charge(chargeOf('pm_card_visa')))
    const charge = chargeOf('pm_card_visa')
    for (const later of [0, 2 * MINUTE, 25 * HOUR]) {
      stripe.clock.now += later
      expect(await cards.charge(charge)).toEqual({ status: 'unavailable' })
    }
    expect(stripe.charged()).toHaveLength(1)
    expect([...stripe.intents.values()].map(({ status }) => status)).toEqual(['succeeded', 'canceled'])
  })

  test('that Stripe wants retried later is unknown', async () => {
    const { stripe, cards } = await started()
    for (const operation of ['search', 'create', 'confirm'] as const) {
      const charge = chargeOf('pm_card_visa')
      stripe.fail(operation, 'limited')
      await expect(cards.charge(charge)).rejects.toThrow('Too many requests. (StripeRateLimitError, 429, rate_limit')
      idOf(await cards.charge(charge))
    }
    expect(stripe.charged()).toHaveLength(3)
  })

  test('that Stripe is still processing is unknown, and is not repeated', async () => {
    const { stripe, cards } = await started({ timeoutMs: 200 })
    let go = () => {}
    stripe.fail('confirm', new Promise<void>((resolve) => (go = resolve)))
    const charge = chargeOf('pm_card_visa')
    const first = expect(cards.charge(charge)).rejects.toThrow('Request aborted due to timeout being reached (200ms)')
    await expect.poll(() => operationsOf(stripe)).toContain('confirm')
    await expect(cards.charge(charge)).rejects.toThrow('409, idempotency_key_in_use')
    await first
    go()
    await expect.poll(stripe.charged).toHaveLength(1)
    expect(idOf(await cards.charge(charge))).toBe(stripe.charged()[0]?.id)
  })

  test('is unknown if Stripe is unreachable, because it may have arrived', async () => {
    const { stripe } = await started()
    const nobody = stripeCards({ ...stripe.options, port: 1 })
    await expect(nobody.charge(chargeOf('pm_card_visa'))).rejects.toThrow('StripeConnectionError, ECONNREFUSED')
  })

  test('of a card that Stripe blocks is declined, also by later calls', async () => {
    const { stripe, cards } = await started()
    await cards.charge(chargeOf('pm_card_visa'))
    const used = [...stripe.intents.values()][0]?.payment_method
    const charge = chargeOf(used)
    for (const later of [0, 2 * MINUTE, 25 * HOUR]) {
      stripe.clock.now += later
      expect(await cards.charge(charge)).toEqual({ status: 'declined', reason: 'refused by Stripe' })
    }
    expect(stripe.charged()).toHaveLength(1)
  })

  test('is found by its id alone, whatever it contains', async () => {
    const { stripe, cards } = await started()
    const ids = ['topup_a', 'topup_A', 'topup_"\\', 'topup_" OR status:"succeeded']
    const charged = []
    for (const id of ids) charged.push(idOf(await cards.charge(chargeOf('pm_card_visa', { id }))))
    stripe.clock.now += 25 * HOUR
    for (const [n, id] of ids.entries())
      expect(idOf(await cards.charge(chargeOf('pm_card_visa', { id })))).toBe(charged[n])
    expect(stripe.charged()).toHaveLength(ids.length)
  })

  const faults: [StripeOperation, StripeFault][] = (
    ['search', 'create', 'confirm', 'retrieve', 'cancel'] as const
  ).flatMap((operation) =>
    (['lost', 'limited', 'broken', 'broken after'] as const).map((fault): [typeof operation, StripeFault] => [
      operation,
      fault,
    ]),
  )

  test('happens at most once and always has the same outcome, whatever fails and however often it is retried', async () => {
    const { stripe, cards } = await started({ searchLagMs: HOUR })
    const pauses = fc.constantFrom(1000, MINUTE, HOUR - 1, 6 * HOUR, 23 * HOUR, 25 * HOUR)
    const tries = fc.array(fc.tuple(fc.subarray(faults, { maxLength: 4 }), pauses), { minLength: 1, maxLength: 6 })
    const methods = fc.constantFrom('pm_card_visa', 'pm_card_visa', 'pm_card_chargeDeclined')
    await fc.assert(
      fc.asyncProperty(tries, methods, async (tries, method) => {
        const charge = chargeOf(method)
        const before = stripe.charged().length
        const results: ChargeResult[] = []
        for (const [faults, pause] of [...tries, [[], 25 * HOUR], [[], 0]] as typeof tries) {
          for (const [operation, fault] of faults) stripe.fail(operation, fault)
          const result = await cards.charge(charge).catch(() => undefined)
          if (result) results.push(result)
          stripe.forgive()
          stripe.clock.now += pause
        }
        expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
        const made = results[0]?.status === 'succeeded' ? 1 : 0
        expect(stripe.charged().length - before).toBe(made)
      }),
      { numRuns: howMuch(50, 150) },
    )
  })
})
