import { HTTPFacilitatorClient } from '@x402/core/server'
import Stripe from 'stripe'
import { describe, expect, onTestFinished, test } from 'vitest'
import { destinationOf } from '../../../sandbox/commands/proxy.js'
import { loadProfile, matchCall, type ProxyProfile } from '../../../sandbox/proxy/profile.js'
import { PaymentProxy, proxyStage } from '../../../sandbox/proxy/proxy.js'
import { ProxyRecord } from '../../../sandbox/proxy/proxy-record.js'
import { type Rehearsal, rehearseOn } from '../../../src/sandbox/rehearse/rehearse-stage.js'
import { showRehearsal } from '../../../src/sandbox/rehearse/report.js'
import { buyerByFetch } from '../../clients/support/x402-buyers.js'
import { startHonoShop } from '../../clients/support/x402-shops.js'
import type { Call } from '../../support/api.js'
import { startHost } from '../../support/browser/host.js'
import { newWallet, paymentOf, SHOP } from '../../support/scenes/x402.js'
import { startStripe } from '../../support/stripe/stripe-fake.js'

/** A service that farthing is not, behind a proxy. */

async function proxyBefore(to: string, profile: string) {
  const proxy = new PaymentProxy({ to: destinationOf(to), profile: await loadProfile(profile), slowMs: 30 })
  await proxy.listen()
  onTestFinished(() => proxy.close())
  return proxy
}

async function endOf(run: () => Promise<unknown>) {
  try {
    return { ended: { isOk: true, result: String(await run()) }, output: '' }
  } catch (error) {
    return { ended: { isOk: false, result: undefined, failure: String(error) }, output: '' }
  }
}

type Shop = (stripe: Stripe) => Promise<unknown>

async function rehearsedBeforeStripe(shop: Shop, { runs = 14, retries = 3 } = {}) {
  const fake = await startStripe()
  onTestFinished(() => fake.close())
  const proxy = await proxyBefore(`http://127.0.0.1:${fake.options.port}`, 'stripe')
  const stage = proxyStage(proxy, (url) => {
    const { hostname: host, port } = new URL(url)
    const stripe = new Stripe(fake.options.apiKey, { host, port, protocol: 'http', maxNetworkRetries: retries })
    return endOf(() => shop(stripe))
  })
  return { fake, rehearsal: await rehearseOn(stage, { runs }) }
}

const order = { amount: 2000, currency: 'eur', payment_method: 'pm_card_visa' }

const bought = async (stripe: Stripe, options?: () => Stripe.RequestOptions) => {
  const { id } = await stripe.paymentIntents.create(order, options?.())
  const { status } = await stripe.paymentIntents.confirm(id, {}, options?.())
  return status
}

describe('before a service that speaks as Stripe', () => {
  test('the unmodified package keeps one key over a lost answer, and is judged fine', async () => {
    const { rehearsal } = await rehearsedBeforeStripe((stripe) => bought(stripe))
    expect(showRehearsal(rehearsal)).toMatch(/^No fault of the client in 14 runs/)
  })

  test('a client with a new key for each try pays twice', async () => {
    const retried: Shop = async (stripe) => {
      for (let left = 3; ; left--)
        try {
          return await bought(stripe, () => ({ idempotencyKey: crypto.randomUUID() }))
        } catch (error) {
          if (left === 1) throw error
        }
    }
    const { rehearsal } = await rehearsedBeforeStripe(retried, { retries: 0 })
    expect(rehearsal.findings.map(({ name, habit }) => [name, habit])).toContainEqual([
      'paid_twice',
      'new_key_each_try',
    ])
  })
})

describe('before a facilitator of x402', () => {
  const named = ({ findings }: Rehearsal) => findings.map(({ name, habit, operation }) => [name, habit, operation])

  async function rehearsedBefore(
    options: Parameters<typeof startHost>[0],
    buy: (sandbox: string, call: Call) => Promise<unknown>,
  ) {
    const host = await startHost(options)
    onTestFinished(() => host.close())
    const proxy = await proxyBefore(host.url, 'x402')
    // Enough for each fault of the call that pays.
    return rehearseOn(
      proxyStage(proxy, (url) => endOf(() => buy(url, host.call))),
      { runs: 7 },
    )
  }

  test('an unmodified shop gives up a settlement whose answer is lost, and does not deliver', async () => {
    const rehearsal = await rehearsedBefore({}, async (sandbox, call) => {
      const shop = await startHonoShop({ sandbox, payTo: SHOP })
      try {
        const { status } = await buyerByFetch(await newWallet(call))(`${shop.url}/report`)
        if (status !== 200) throw new Error(`the shop answered ${status}`)
        return 'the report'
      } finally {
        await shop.close()
      }
    })
    expect(named(rehearsal)).toEqual([
      ['paid_undelivered', 'gives_up', 'settle'],
      ['paid_undelivered', 'loses_the_answer', 'settle'],
    ])
  })

  test('a shop that settles the same payment again is judged fine, if its facilitator answers again', async () => {
    const rehearsal = await rehearsedBefore({ x402Settle: 'idempotent' }, async (sandbox, call) => {
      const facilitator = new HTTPFacilitatorClient({ url: `${sandbox}/x402` })
      const { paymentPayload, paymentRequirements } = await paymentOf(await newWallet(call))
      for (let left = 3; ; left--)
        try {
          const { success } = await facilitator.settle(paymentPayload as never, paymentRequirements as never)
          if (success) return 'the report'
          throw new Error('it was refused')
        } catch (error) {
          if (left === 1) throw error
        }
    })
    expect(named(rehearsal)).toEqual([])
  })

  test('a shop that has its buyer sign again is paid twice', async () => {
    const rehearsal = await rehearsedBefore({}, async (sandbox, call) => {
      const facilitator = new HTTPFacilitatorClient({ url: `${sandbox}/x402` })
      const account = await newWallet(call)
      for (let left = 3; ; left--)
        try {
          const { paymentPayload, paymentRequirements } = await paymentOf(account)
          const { success } = await facilitator.settle(paymentPayload as never, paymentRequirements as never)
          if (success) return 'the report'
          throw new Error('it was refused')
        } catch (error) {
          if (left === 1) throw error
        }
    })
    expect(named(rehearsal)).toContainEqual(['paid_twice', 'new_key_each_try', 'settle'])
  })
})

const stripe = await loadProfile('stripe')

describe('what went through', () => {
  const json = { 'content-type': 'application/json' }
  const ofForm = { 'content-type': 'application/x-www-form-urlencoded' }

  /** Records calls and their answers: method, path, form and answer. */
  function recorded(calls: readonly (readonly [string, string, object])[], profile = stripe) {
    const record = new ProxyRecord(profile, false)
    for (const [request, form, answer] of calls) {
      const [method = '', path = ''] = request.split(' ')
      const call = record.begin(matchCall(profile, method, path), method, undefined)
      record.sent(call, { headers: ofForm, body: Buffer.from(form) }, path)
      record.answered(call, 200, { headers: json, body: Buffer.from(JSON.stringify(answer)) })()
    }
    return record.result({ ended: { isOk: true, result: undefined }, output: '' })
  }

  const intent = (status: string) => ({ id: 'pi_1', amount: 2000, status })
  const created = ['POST /v1/payment_intents', 'amount=2000&currency=eur', intent('requires_confirmation')] as const

  test('a payment is what is confirmed, about what was created', () => {
    const { calls, payments } = recorded([created, ['POST /v1/payment_intents/pi_1/confirm', '', intent('succeeded')]])
    expect(calls.map(({ operation, path }) => [operation, path])).toEqual([
      ['createPaymentIntent', '/v1/payment_intents'],
      ['confirmPaymentIntent', '/v1/payment_intents/:id/confirm'],
    ])
    expect(calls[1]?.item).toBe(calls[0]?.item)
    expect(payments).toMatchObject([{ call: 'call_2', amount: '2000', status: 'posted' }])
  })

  test('a payment that is held and captured is one, and one that is given back moved nothing', () => {
    const held = ['POST /v1/payment_intents/pi_1/confirm', '', intent('requires_capture')] as const
    const captured = ['POST /v1/payment_intents/pi_1/capture', '', intent('succeeded')] as const
    const refunded = [
      'POST /v1/refunds',
      'payment_intent=pi_1',
      { id: 're_1', payment_intent: 'pi_1', status: 'succeeded' },
    ] as const
    expect(recorded([created, held]).payments).toMatchObject([{ status: 'held' }])
    expect(recorded([created, held, captured]).payments).toMatchObject([{ status: 'posted' }])
    expect(recorded([created, held, captured, refunded]).payments).toMatchObject([{ status: 'reversed' }])
  })

  test('reads make no payment', () => {
    expect(recorded([['GET /v1/payment_intents/pi_9', '', intent('succeeded')]]).payments).toEqual([])
  })

  test('amounts count in the smallest unit, and a pending answer and its end are one payment', () => {
    const shop: ProxyProfile = {
      ...{ keys: { key: '/key' }, amount: ['/amount'], decimals: 2, payment: '/id' },
      outcome: [{ field: '/status', paid: ['paid'], pending: ['processing'] }],
      calls: { pay: { request: 'POST */pay' } },
    }
    const { calls, payments } = recorded(
      [
        ['POST /any/pay', 'key=a&amount=1.5', { status: 'processing' }],
        ['POST /any/pay', 'key=a&amount=1.5', { status: 'paid', id: 7 }],
      ],
      shop,
    )
    expect(calls.map(({ outcome }) => outcome)).toEqual(['pending', 'done'])
    expect(payments).toMatchObject([{ amount: '150', status: 'posted' }])
    expect(calls[1]?.shownPayments).toEqual([payments[0]?.id])
  })

  test('holds nothing but hashes of what the profile names', () => {
    const secret = ['sk_live_secret', 'cus_secret', 'order_secret', 'pi_secret'] as const
    const form = `amount=2000&currency=eur&customer=${secret[1]}&metadata[order_id]=${secret[2]}`
    const run = recorded([['POST /v1/payment_intents', form, { id: secret[3], amount: 2000, status: 'succeeded' }]])
    for (const each of secret) expect(JSON.stringify(run)).not.toContain(each)
  })
})
