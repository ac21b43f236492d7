import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { paywallPrice } from '../../src/market/paywall/paywall.js'
import { recordQuantity } from '../../src/money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../src/money/ledger/amount.js'
import { type Call, caller } from '../support/api.js'
import { addItem, newCart, payCart, readCart } from '../support/scenes/carts.js'
import { complete, guest, newCheckout, newItem, readCheckout, withCard } from '../support/scenes/checkout.js'
import { fund } from '../support/scenes/market.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

const DECIMALS = [0, 2, 6]
/** How many smallest units everything costs. Counted with other decimals, it is no multiple of that, or a much larger one. */
const UNITS = 7
const MOST = 60
const AMOUNT = /^(amount|price|cost|\w+_(price|amount))$/

/** The numbers of an answer that are amounts of a digital quantity, with their names. */
function amountsIn(value: unknown, dq: string, name = ''): [name: string, amount: number][] {
  if (typeof value === 'number') return AMOUNT.test(name) || name === dq ? [[name === dq ? 'dq' : name, value]] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => amountsIn(part, dq, Array.isArray(value) ? name : key))
}

/** A shop and a payer, whose every answer is looked at. `one`: how many smallest units one of the quantity is. */
async function opened(decimals: number, cost: number) {
  const quantity = { name: 'Quantity', shortcode: 'QTY', decimals }
  const upstream = {
    fetch: async ({ url }: { readonly url: string }) =>
      new Response('', { status: url.includes('/fails') ? 503 : 200 }),
  }
  const service = createService({ sandbox: true, seed: { digital_quantities: [quantity] }, upstream })
  const sent = caller({ url: service.baseUrl, fetch: service.fetch })
  const dq: string = (await sent('GET', '/v4/dq')).body.digital_quantities.at(-1)
  const price = cost / 10 ** decimals
  const seen = new Map<string, number>()
  const call: Call = async (method, path, options) => {
    const answer = await sent(method, path, options)
    for (const [name, amount] of answer.status < 300 ? amountsIn(answer.body, dq) : []) {
      const times = Math.round(amount / price)
      const exact = [(times * cost) / 10 ** decimals, Math.abs(times) <= MOST]
      expect([amount, true], `${method} ${path}: ${name}`).toEqual(exact)
      if (amount !== 0) seen.set(name, (seen.get(name) ?? 0) + 1)
    }
    return answer
  }
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller)
  await fund(call, payer.hostname, MOST * price, dq)
  const sell = (path: string) => newItem(call, seller, `https://api.example.test/${path}`, { price, dq })
  return { service, call, seller, payer, user: { token: payer.token }, dq, price, sell, seen }
}

test.each(DECIMALS)(
  'what costs seven smallest units of %i decimals costs that wherever it is shown',
  async (decimals) => {
    const { service, call, seller, payer, user, dq, price, sell, seen } = await opened(decimals, UNITS)
    const item = await sell('works')
    const of = { catalog_item_id: item.id, arguments: { topic: 'birds' } }
    await call('POST', `/v4/catalog/items/${item.id}/purchases`, { ...user, body: { arguments: of.arguments } })
    const cart = await newCart(call, user)
    await addItem(call, user, cart, { ...of, quantity: 3 })
    await readCart(call, user, cart)
    expect((await payCart(call, user, cart)).body.totals).toEqual({ [dq]: toAmount(3n * BigInt(UNITS), decimals) })
    const link = await newCheckout(call, { seller, item })
    await readCheckout(call, link)
    expect((await complete(call, link, user, { hostname: payer.hostname })).body.status).toBe('paid')
    const twin = (await call('POST', '/v4/twin', { token: seller.token, body: { dq } })).body
    const body = { descriptor: 'NEWS', dq, cost: price, twin_id: twin.id }
    const { hash } = (await call('POST', '/v4/commodity', { token: seller.token, body })).body
    expect((await call('POST', `/v4/payment/${hash}`, user)).status).toBe(202)
    const transfer = await call('POST', '/v4/transfer', {
      ...user,
      body: { address: twin.hostname, amount: price, dq },
    })
    expect(transfer.status).toBe(201)
    const own = [
      '/v4/payments',
      '/v4/purchases',
      '/v4/twins',
      '/v4/transfers',
      '/v4/carts',
      `/v4/twin/${payer.hostname}`,
    ]
    for (const path of own) await call('GET', path, user)
    for (const path of ['/v4/catalog/items', `/v4/commodity/${hash}`]) await call('GET', path, { token: seller.token })
    expect(Object.fromEntries(seen)).toMatchObject({ price: 8, amount: 20, cost: 2, dq: 5 })
    await service.close()
  },
)

test.each(DECIMALS)('a refused refund of %i decimals shows what the card paid', async (decimals) => {
  const { service, call, seller, sell } = await opened(decimals, decimals === 0 ? UNITS : UNITS * 10 ** (decimals - 1))
  const link = await newCheckout(call, { seller, item: await sell('fails') })
  expect((await withCard(call, link, await guest(call))).body.code).toBe('upstream_failed')
  const { counters, rows } = (await call('GET', '/_sandbox/snapshot')).body
  const [charge] = rows.checkout_charges
  const refused = { ...charge, status: 'unrefunded', open_of: null, refund_id: 'refund_0', refusal: 'too long ago' }
  await call('PUT', '/_sandbox/snapshot', { body: { counters, rows: { ...rows, checkout_charges: [refused] } } })
  const { refunds } = (await call('GET', '/v4/checkout/refunds', { token: seller.token })).body
  expect(refunds).toMatchObject([{ amount: decimals === 0 ? 7 : 0.7 }])
  await service.close()
})

test('the paywall charges every amount of every digital quantity as it is', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    for (let decimals = 0; decimals <= 9; decimals++) {
      const of = { name: '', shortcode: 'Q', shortdescription: '', decimals }
      await recordQuantity(tx, of, { hash: `${decimals}`, issuerTwinId: 1 })
      for (const units of [1n, 7n, 123_456_789n, 10n ** 12n + 1n])
        expect((await paywallPrice(tx, toAmount(units, decimals), `${decimals}`)).amount).toBe(units)
    }
  })
})
