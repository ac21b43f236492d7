import { describe, expect, it, onTestFinished } from 'vitest'
import { systemAlarm } from '../../src/base/ports.js'
import { type Cards, createService } from '../../src/index.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { startWith } from '../support/contract/prepared.js'
import { done, refused } from '../support/mcp/mcp.js'
import { newMcpShop } from '../support/mcp/mcp-shop.js'
import { heldBy, newAgentShop, requestApproval } from '../support/scenes/approvals.js'
import { attacked } from '../support/scenes/attacked.js'
import { changeItem, newShop, purchase, type Shop, settledSums } from '../support/scenes/catalog.js'
import { cardMessages, makeCheckout } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newSession } from '../support/scenes/world.js'

/** Sellers who change a price between the moment it is seen and the moment it is paid. */

const upstream = useUpstream()

const startService = attacked()

/** An item that takes no arguments. */
const open = { service_schema: { type: 'object' } }

async function start(fields: object = {}): Promise<Shop & { call: Call }> {
  const sold = { ...open, external_endpoint: `${upstream.url}/ok`, ...fields }
  const { call, made } = await startWith(startService, newShop, sold)
  return { call, ...made }
}

const ANOTHER_DQ = `41${'0'.repeat(64)}`

const pay = (call: Call, { payer, item }: Shop, body: object, headers: Record<string, string> = {}) =>
  call('POST', `/v4/payment/${item.commodity_hash}`, { token: payer.token, body, headers })

function expectPriceChanged(answer: Answer, price: number, dq: string): void {
  expectProblem(answer, 409, 'price_changed')
  expect([answer.body.price, answer.body.dq]).toEqual([price, dq])
}

describe('a payment', () => {
  it('a seller cannot charge more than the payer saw', async () => {
    const { call, ...shop } = await start()
    const { dq } = shop.item
    expect((await pay(call, shop, { cost: 0.25, dq })).status).toBe(202)
    await changeItem(call, shop.seller, shop.item, { price: 5 })
    expectPriceChanged(await pay(call, shop, { cost: 0.25, dq }), 5, dq)
    expectPriceChanged(await pay(call, shop, { cost: 0.25 }), 5, dq)
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
    expect((await pay(call, shop, { cost: 5, dq })).status).toBe(202)
  })

  it('a seller cannot charge for what was free when it was shown', async () => {
    const { call, ...shop } = await start({ price: 0 })
    await changeItem(call, shop.seller, shop.item, { price: 1.5 })
    expectPriceChanged(await pay(call, shop, { cost: 0, dq: shop.item.dq }), 1.5, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })

  it('a seller cannot charge the same amount in another digital quantity', async () => {
    const { call, ...shop } = await start()
    expectPriceChanged(await pay(call, shop, { cost: 0.25, dq: ANOTHER_DQ }), 0.25, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })

  it('every spelling of a number is the same price, and anything else is refused', async () => {
    const { call, ...shop } = await start()
    for (const cost of [0.25, '0.25', '0.250', '2.5e-1']) expect((await pay(call, shop, { cost })).status).toBe(202)
    const raw = '{"cost": 2.50e-1}'
    const spelled = await call('POST', `/v4/payment/${shop.item.commodity_hash}`, {
      ...{ token: shop.payer.token, raw, headers: { 'content-type': 'application/json' } },
    })
    expect(spelled.status).toBe(202)
    const form = { cost: '0.250', dq: shop.item.dq }
    const formed = await call('POST', `/v4/payment/${shop.item.commodity_hash}`, { token: shop.payer.token, form })
    expect(formed.status).toBe(202)
    for (const cost of ['', ' ', '0x0', '-0.25', '1e', '∞', null, [0.25], true])
      expectProblem(await pay(call, shop, { cost }), 400, 'field_invalid')
    expectPriceChanged(await pay(call, shop, { cost: 0.2500001 }), 0.25, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([8.5, 1.5])
  })

  it('every version of the interface checks the quote', async () => {
    const { call, ...shop } = await start()
    const old = `/v2/payment/${shop.item.commodity_hash}`
    expectPriceChanged(await call('POST', old, { token: shop.payer.token, body: { cost: 0.2 } }), 0.25, shop.item.dq)
  })
})

describe('a payback', () => {
  it('a seller cannot pay less than the reader saw', async () => {
    const { call, seller, item } = await start()
    const { id: twin_id } = (await call('GET', '/v4/twins', { token: seller.token })).body.twins[0]
    const { dq, hostname } = item
    const body = { descriptor: 'READ', dq, cost: 0.1, twin_id, payback: true }
    const { hash } = (await call('POST', '/v4/commodity', { token: seller.token, body })).body
    await call('POST', '/_sandbox/fund', { body: { hostname, amount: 1 } })
    const session = await newSession(call, 'reader@example.test')
    const consent = (quote: object) => call('POST', `/v4/payback/${hash}`, { session, body: quote })
    expectPriceChanged(await consent({ cost: 0.5, dq }), 0.1, dq)
    expectPriceChanged(await consent({ cost: 0.1, dq: ANOTHER_DQ }), 0.1, dq)
    expect((await consent({ cost: 0.1, dq })).status).toBe(202)
  })
})

describe('a purchase', () => {
  it('a seller cannot charge more than the buyer saw, nor in another digital quantity', async () => {
    const { call, ...shop } = await start()
    const buy = (body: object) => purchase(call, { token: shop.payer.token }, shop.item, body)
    await changeItem(call, shop.seller, shop.item, { price: 5 })
    upstream.requests.length = 0
    expectPriceChanged(await buy({ price: 0.25, dq: shop.item.dq }), 5, shop.item.dq)
    expectPriceChanged(await buy({ price: '0.25' }), 5, shop.item.dq)
    expectPriceChanged(await buy({ price: 5, dq: ANOTHER_DQ }), 5, shop.item.dq)
    expectPriceChanged(await buy({ dq: ANOTHER_DQ }), 5, shop.item.dq)
    expect([await settledSums(call, shop), upstream.requests]).toEqual([[10, 0], []])
    expect((await buy({ price: '5.00', dq: shop.item.dq })).status).toBe(201)
  })
})

describe('a checkout', () => {
  it('a link cannot charge a price that its payer did not see', async () => {
    const { call, ...shop } = await start()
    const link = (await makeCheckout(call, shop, { arguments: {} })).body
    const complete = (body: object) =>
      call('POST', `/v4/checkout/${link.token}/complete`, { token: shop.payer.token, body })
    expectPriceChanged(await complete({ price: 0.2, dq: link.dq }), 0.25, link.dq)
    expectPriceChanged(await complete({ price: link.price, dq: ANOTHER_DQ }), 0.25, link.dq)
    const card = { payment_method_id: 'pm_card_visa' }
    expectPriceChanged(await complete({ ...card, price: 0.5 }), 0.25, link.dq)
    expect((await call('GET', '/_sandbox/outbox?kind=card')).body.messages).toEqual([])
    expect(await settledSums(call, shop)).toEqual([10, 0])
    expect((await complete({ price: '0.25', dq: link.dq })).body.receipt.amount).toBe(0.25)
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
  })
})

/** What a page's form would send: the value of each of its hidden fields. */
const hiddenIn = ({ text }: Answer): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )

describe('the page of a checkout', () => {
  it('sends the price that it shows, from a wallet and by card, and charges no other', async () => {
    const { call, ...shop } = await start({ price: 2 })
    const link = (await makeCheckout(call, shop, { arguments: {} })).body
    const session = await newSession(call, shop.payer.email)
    const page = `/checkout/${link.token}`
    const quote = { price: '2', dq: shop.item.dq }
    expect(hiddenIn(await call('GET', page, { session }))).toEqual(quote)
    expect(hiddenIn(await call('GET', `${page}?step=card`, { session }))).toEqual(quote)
    for (const stale of [
      { ...quote, price: '1' },
      { ...quote, dq: ANOTHER_DQ },
    ])
      for (const way of [{ answer: 'pay' }, { answer: 'card', payment_method_id: 'pm_card_visa' }]) {
        expectPriceChanged(await call('POST', page, { session, body: { ...way, ...stale } }), 2, shop.item.dq)
        const shown = await call('POST', page, {
          session,
          form: { ...way, ...stale },
          headers: { accept: 'text/html' },
        })
        expect([shown.status, shown.text]).toEqual([409, expect.stringContaining('The price has changed')])
        expect(hiddenIn(shown)).toEqual(quote)
      }
    expect((await call('GET', '/_sandbox/outbox?kind=card')).body.messages).toEqual([])
    expect(await settledSums(call, shop)).toEqual([10, 0])
    expect((await call('POST', page, { session, form: { answer: 'pay', ...quote } })).status).toBe(303)
    expect(await settledSums(call, shop)).toEqual([8, 2])
  })

  it('the card gets its money back if the price changes during the charge', async () => {
    let meanwhile = async () => {}
    const cards = testProcessor({ alarm: systemAlarm })
    const slow: Cards = { ...cards, charge: async (charge) => meanwhile().then(() => cards.charge(charge)) }
    const service = createService({ sandbox: true, cards: slow })
    onTestFinished(() => service.close())
    const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
    const shop = await newShop(call, { price: 2, ...open, external_endpoint: `${upstream.url}/ok` })
    meanwhile = async () => void (await changeItem(call, shop.seller, shop.item, { price: 3 }))
    const link = (await makeCheckout(call, shop, { arguments: {} })).body
    const session = (await call('GET', '/v4/session')).body.session_id
    const body = { payment_method_id: 'pm_card_visa', price: 2, dq: link.dq }
    expectPriceChanged(await call('POST', `/v4/checkout/${link.token}/complete`, { session, body }), 3, link.dq)
    expect(await cardMessages(call, 'card')).toHaveLength(1)
    await expect.poll(async () => (await cardMessages(call, 'refund')).map(({ status }) => status)).toEqual(['sent'])
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })
})

describe('a cart', () => {
  async function filled() {
    const { call, ...shop } = await start()
    const user = { token: shop.payer.token }
    const cart = (await call('POST', '/v4/carts', user)).body.id
    const line = { catalog_item_id: shop.item.id, quantity: 2 }
    const { items } = (await call('POST', `/v4/carts/${cart}/items`, { ...user, body: line })).body
    const pay = (body: object) => call('POST', `/v4/carts/${cart}/pay`, { ...user, body })
    return { call, shop, cart, user, line, items, pay }
  }

  it('a price that rises after the cart was read refuses the payment and returns the current lines', async () => {
    const { call, shop, items, pay } = await filled()
    await changeItem(call, shop.seller, shop.item, { price: 4 })
    const present = [{ line: 1, quantity: 2, price: 4, dq: shop.item.dq }]
    for (const body of [{ lines: items }, { lines: items, accept_prices: true }]) {
      const refused = await pay(body)
      expectProblem(refused, 409, 'price_changed')
      expect(refused.body.lines).toEqual(present)
    }
    const [changed] = (await pay({})).body.lines
    expect(changed).toMatchObject({ line: 1, price: 0.25, new_price: 4, new_dq: shop.item.dq })
    expect(await settledSums(call, shop)).toEqual([10, 0])
    expect((await pay({ lines: present })).body).toMatchObject({ status: 'paid', totals: { [shop.item.dq]: 8 } })
  })

  it('the payer does not pay for a line that was added or changed after they read the cart', async () => {
    const { call, shop, cart, user, line, items, pay } = await filled()
    await call('POST', `/v4/carts/${cart}/items`, { ...user, body: line })
    expectProblem(await pay({ lines: items }), 409, 'price_changed')
    await call('DELETE', `/v4/carts/${cart}/items/2`, user)
    await call('PUT', `/v4/carts/${cart}/items/1`, { ...user, body: { quantity: 9 } })
    expectProblem(await pay({ lines: items }), 409, 'price_changed')
    expectProblem(await pay({ lines: [] }), 409, 'price_changed')
    expect(await settledSums(call, shop)).toEqual([10, 0])
    const seen = (await call('GET', `/v4/carts/${cart}`, user)).body.items
    expect((await pay({ lines: seen })).body.status).toBe('paid')
  })
})

describe('an approval', () => {
  const startAgent = (fields: object = {}) =>
    newAgentShop(startService, {
      ...open,
      external_endpoint: `${upstream.url}/ok`,
      ...fields,
    })

  it('its page sends the price that it shows, and approves no other', async () => {
    const { call, agent, payer, item } = await startAgent()
    const wish = { kind: 'purchase', catalog_item_id: item.id }
    const { approval_id } = (await requestApproval(call, agent, wish)).body
    const session = await newSession(call, payer.email)
    const page = `/approvals/${approval_id}`
    const quote = { price: '0.25', dq: item.dq }
    expect(hiddenIn(await call('GET', page, { session }))).toEqual(quote)
    const answer = { answer: 'approve', ...quote }
    expectPriceChanged(await call('POST', page, { session, form: { ...answer, price: '0.01' } }), 0.25, item.dq)
    const approve = (body: object) => call('POST', `/v4/approvals/${approval_id}/approve`, { ...payer, body })
    expectPriceChanged(await approve({ price: 0.01 }), 0.25, item.dq)
    expectPriceChanged(await approve({ price: 0.25, dq: ANOTHER_DQ }), 0.25, item.dq)
    const status = async () => (await call('GET', `/v4/agent/approvals/${approval_id}`, agent)).body.status
    expect(await status()).toBe('pending')
    expect((await call('POST', page, { session, form: answer })).status).toBe(303)
    expect(await status()).toBe('approved')
  })

  it('a cart is approved at its total, and a price that rises after that is not paid', async () => {
    const shop = await startAgent()
    const { call, agent, payer, item } = shop
    const cart = (await call('POST', '/v4/carts', agent)).body.id
    const line = { catalog_item_id: item.id, quantity: 3 }
    await call('POST', `/v4/carts/${cart}/items`, { ...agent, body: line })
    const { approval_id } = (await requestApproval(call, agent, { kind: 'cart', cart_id: cart })).body
    const approve = (body: object) => call('POST', `/v4/approvals/${approval_id}/approve`, { ...payer, body })
    expectPriceChanged(await approve({ price: 0.25, dq: item.dq }), 0.75, item.dq)
    expect((await approve({ price: 0.75, dq: item.dq })).status).toBe(200)
    await changeItem(call, shop.seller, item, { price: 3 })
    const paid = await call('POST', `/v4/carts/${cart}/pay`, { ...agent, body: { approval_id } })
    expectProblem(paid, 409, 'approval_mismatch')
    expect(await heldBy(call, shop)).toEqual([10, 10])
  })

  it('an agent cannot ask for approval of a price that it did not see', async () => {
    const { call, agent, seller, item } = await startAgent()
    await changeItem(call, seller, item, { price: 3 })
    const wish = { kind: 'purchase', catalog_item_id: item.id, price: 0.25, dq: item.dq }
    expectPriceChanged(await requestApproval(call, agent, wish), 3, item.dq)
    expect((await requestApproval(call, agent, { ...wish, price: 3 })).status).toBe(201)
  })
})

describe('a tool that spends', () => {
  it("a seller cannot raise a tool's price between tools/list and the call of an agent that needs no approval", async () => {
    const shop = await newMcpShop({ featured: true })
    const { call, payer, seller, item, own } = shop
    onTestFinished(() => shop.close())
    await call('PUT', '/v4/agent/settings', { ...payer, body: { approval_threshold: { [item.dq]: 5 } } })
    const client = await shop.client('2025-11-25', { path: own })
    const { tools } = await client.listTools()
    const quoted = tools.find(({ name }) => name === 'city_weather')?.inputSchema.properties?.quote as any
    const quote = { price: quoted.properties.price.const, dq: quoted.properties.dq.const }
    expect(quote).toEqual({ price: 0.25, dq: item.dq })
    await changeItem(call, seller, item, { price: 4 })
    const changed = { code: 'price_changed', price: 4, dq: item.dq }
    expect(await refused(client, 'city_weather', { city: 'Oslo', quote })).toMatchObject(changed)
    const order = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    expect(await refused(client, 'agent_checkout', { ...order, ...quote })).toMatchObject(changed)
    const moved = { ...order, price: 4, dq: ANOTHER_DQ }
    expect(await refused(client, 'agent_checkout', moved)).toMatchObject(changed)
    for (const wrong of [5, { price: 4 }, { price: 'four', dq: item.dq }])
      expect(await refused(client, 'city_weather', { city: 'Oslo', quote: wrong })).toMatchObject({ field: 'quote' })
    expect([await heldBy(call, shop), shop.asked]).toEqual([[10, 10], []])
    expect(await done(client, 'city_weather', { city: 'Oslo', quote: { ...quote, price: 4 } })).toMatchObject({
      status: 'paid',
    })
  })

  it('an agent does not pay for a cart at prices that it did not see', async () => {
    const shop = await newMcpShop()
    const { call, payer, seller, item } = shop
    onTestFinished(() => shop.close())
    await call('PUT', '/v4/agent/settings', { ...payer, body: { approval_threshold: { [item.dq]: 5 } } })
    const client = await shop.client('2025-11-25')
    const cart = await done(client, 'cart_add', { catalog_item_id: item.id, arguments: { city: 'Oslo' } })
    await changeItem(call, seller, item, { price: 4 })
    const { items } = await done(client, 'cart_view', { cart_id: cart.id })
    const lines = items.map(({ line, quantity, price, dq }: any) => ({ line, quantity, price, dq }))
    const pay = { cart_id: cart.id, accept_prices: true, lines }
    expect(await refused(client, 'cart_pay', pay)).toMatchObject({ code: 'price_changed', lines: [{ price: 4 }] })
    expect(await heldBy(call, shop)).toEqual([10, 10])
  })
})

describe('an Idempotency-Key', () => {
  it('does not store a stale quote: the same key pays after the payer sees the new price', async () => {
    const { call, ...shop } = await start()
    const headers = { 'idempotency-key': 'k1' }
    const buy = (price: number) =>
      call('POST', `/v4/catalog/items/${shop.item.id}/purchases`, { token: shop.payer.token, body: { price }, headers })
    await changeItem(call, shop.seller, shop.item, { price: 5 })
    expectPriceChanged(await pay(call, shop, { cost: 0.25 }, headers), 5, shop.item.dq)
    expectPriceChanged(await buy(0.25), 5, shop.item.dq)
    expect(await settledSums(call, shop)).toEqual([10, 0])
    expect((await pay(call, shop, { cost: 5 }, headers)).status).toBe(202)
    expect((await buy(5)).status).toBe(201)
    await changeItem(call, shop.seller, shop.item, { price: 6 })
    // The earlier payment stands, at its old price.
    expect((await pay(call, shop, { cost: 5 }, headers)).headers.get('idempotent-replayed')).toBe('true')
    expect(await settledSums(call, shop)).toEqual([0, 10])
  })
})
