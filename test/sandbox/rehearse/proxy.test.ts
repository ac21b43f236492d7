import Stripe from 'stripe'
import { describe, expect, onTestFinished, test } from 'vitest'
import { destinationOf } from '../../../sandbox/commands/proxy.js'
import { loadProfile } from '../../../sandbox/proxy/profile.js'
import { PaymentProxy } from '../../../sandbox/proxy/proxy.js'
import { proxyStage } from '../../../sandbox/proxy/proxy-stage.js'
import { rehearseOn } from '../../../src/sandbox/rehearse/rehearse-stage.js'
import { showRehearsal } from '../../../src/sandbox/rehearse/report.js'
import { buyerByFetch } from '../../clients/support/x402-buyers.js'
import { startHonoShop } from '../../clients/support/x402-shops.js'
import { startHost } from '../../support/browser/host.js'
import { newAccount, newWallet } from '../../support/scenes/x402.js'
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
  /** An unmodified shop, and a buyer who tries again with the same signature. */
  async function rehearsedShop(runs: number) {
    const host = await startHost()
    onTestFinished(() => host.close())
    const proxy = await proxyBefore(host.url, 'x402')
    const payTo = newAccount().address
    const stage = proxyStage(proxy, (sandbox) =>
      endOf(async () => {
        const shop = await startHonoShop({ sandbox, payTo })
        try {
          const account = await newWallet(host.call, 1)
          const { status } = await buyerByFetch(account)(`${shop.url}/report`)
          if (status !== 200) throw new Error(`the shop answered ${status}`)
          return 'the report'
        } finally {
          await shop.close()
        }
      }),
    )
    return rehearseOn(stage, { runs })
  }

  test('an unmodified shop is told that it gives up a settlement whose answer is lost', async () => {
    const rehearsal = await rehearsedShop(10)
    console.log(showRehearsal(rehearsal))
  })
})
