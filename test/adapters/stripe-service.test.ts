import { afterEach, expect, test } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { caller } from '../support/api.js'
import { Subscriber } from '../support/scenes/billing.js'
import { guest, newCheckout, newShop, settled, statusOf, withCard } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { again } from '../support/scenes/transfers.js'
import { newSeller } from '../support/scenes/world.js'
import { useStripe } from '../support/stripe/stripe.js'

const started = useStripe()
const services: Service[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.close()
})

/** A sandbox whose cards are charged by Stripe, a shop that sells for two, and who holds ten; the clock stands still. */
async function prepared({ delivers = true } = {}) {
  const { stripe, cards } = await started()
  const errors: string[] = []
  const service = createService({
    sandbox: true,
    cards,
    upstream: { fetch: async () => new Response('The story.', { status: delivers ? 200 : 503 }) },
    log: { error: (message, cause) => void errors.push(`${message}: ${(cause as Error).message}`) },
  })
  services.push(service)
  await service.sandbox.setClock({ mode: 'manual' })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const shop = await newShop(call, 'https://api.example.test/story')
  const { token, hostname } = shop.payer
  return {
    ...{ stripe, service, call, shop, errors },
    topUp: (payment_method_id: string) =>
      call('POST', `/v4/twin/${hostname}/topup`, { token, body: { amount: 5, payment_method_id } }),
    charged: () => stripe.charged().map(({ amount, description }) => [amount, description]),
  }
}

test("charges a top-up and a checkout once each, although Stripe's first answers are lost", async () => {
  const { stripe, service, call, shop, errors, topUp, charged } = await prepared()
  stripe.fail('confirm', 'lost')
  const unknown = await topUp('pm_card_visa')
  expectProblem(unknown, 502, 'processor_failed')
  expect(unknown.body.outcome).toBe('unknown')
  expect(errors).toEqual([
    expect.stringMatching(/stays in the outbox and is tried again: Stripe: .*StripeConnectionError/),
  ])
  expect(await settled(call, shop)).toEqual({ seller: 0, payer: 10, issued: 10 })
  await service.sandbox.advance('5s')
  expect(await settled(call, shop)).toEqual({ seller: 0, payer: 15, issued: 15 })

  const [link, reader] = [await newCheckout(call, shop), await guest(call)]
  stripe.fail('confirm', 'lost')
  expectProblem(await withCard(call, link, reader), 502, 'processor_failed')
  expect(await statusOf(call, link)).toBe('paying')
  await service.sandbox.advance('5s')
  // The card was charged meanwhile: that pays.
  expect((await withCard(call, link, reader)).status).toBe(200)
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 15, issued: 17 })
  expect(charged()).toEqual([
    [500, `Top-up of ${shop.payer.hostname}`],
    [200, expect.stringContaining('STORY')],
  ])
})

test('issues nothing for a declined card, and issues value for the next one', async () => {
  const { stripe, call, shop, topUp, charged } = await prepared()
  const declined = await topUp('pm_card_chargeDeclinedInsufficientFunds')
  expectProblem(declined, 402, 'card_declined')
  expect(declined.body.reason).toBe('insufficient funds')
  stripe.fail('confirm', 'broken')
  const brokenDown = await topUp('pm_card_visa')
  expectProblem(brokenDown, 502, 'processor_failed')
  expect(brokenDown.body.outcome).toBe('failed')
  expect((await topUp('pm_card_mastercard')).status).toBe(201)
  expect(charged()).toHaveLength(1)
  expect(await settled(call, shop)).toEqual({ seller: 0, payer: 15, issued: 15 })
})

test('refunds the charge of an expired link once, although the first answer is lost', async () => {
  const { stripe, service, call, shop, errors } = await prepared({ delivers: false })
  const [link, reader] = [await newCheckout(call, shop), await guest(call)]
  expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
  stripe.fail('refund', 'lost')
  await service.sandbox.advance('8d')
  expect(errors).toEqual([expect.stringContaining('refund')])
  expect(stripe.refunds).toMatchObject([{ amount: 200, charge: stripe.charged()[0]?.id, status: 'succeeded' }])
  const seller = await again(call, shop.seller)
  const payer = await again(call, shop.payer)
  expect(await settled(call, { ...shop, seller, payer })).toEqual({ seller: 0, payer: 10, issued: 10 })
})

test("charges nobody's card on file by its name, and shows that name in no message", async () => {
  const { stripe, service, call, shop, topUp } = await prepared()
  const account = new Subscriber(call, await newSeller(call))
  await account.chosen('growth', 'pm_card_visa')
  const [kept] = stripe.charged()
  const { messages } = await service.sandbox.outbox({ kind: 'card' })
  expect(messages).toMatchObject([{ text: expect.stringContaining('the card on file, Visa ending in 4242.') }])
  expect(JSON.stringify(messages)).not.toContain(kept?.customer)
  const name = `${kept?.customer}:${kept?.payment_method}`
  const declined = await topUp(name)
  expectProblem(declined, 402, 'card_declined')
  expect(declined.body.reason).toBe('unknown payment method')
  expectProblem(await withCard(call, await newCheckout(call, shop), await guest(call), name), 402, 'card_declined')
  const other = new Subscriber(call, await newSeller(call))
  expectProblem(await other.choose('growth', name), 402, 'card_declined')
  expect(stripe.charged()).toHaveLength(1)
})

test('offers only test cards that Stripe knows, on the page and in the test values', async () => {
  const { call, shop } = await prepared()
  expect((await call('GET', '/_sandbox/test-values')).body.payment_methods).toEqual([])
  const { token } = await newCheckout(call, shop)
  for (const step of ['', '?step=card']) {
    const page = await call('GET', `/checkout/${token}${step}`, { headers: { accept: 'text/html' } })
    expect([page.status, /pm_|Test cards|step=card/.exec(page.text)?.[0]]).toEqual([200, undefined])
    expect(page.text).toContain('To pay by card, go back to the site that sent you here')
  }
})
