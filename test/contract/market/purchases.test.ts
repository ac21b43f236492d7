import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { changeItem, newItem, newShop, purchase, settledSums } from '../../support/scenes/catalog.js'
import { expectProblem, pay } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { newDelegate, newPersona, UNKNOWN_HASH } from '../../support/scenes/personas.js'
import { type TestUpstream, useUpstream } from '../../support/scenes/upstream.js'
import { newSeller, newSession, newTwin } from '../../support/scenes/world.js'

const upstream = useUpstream()

const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })
const OSLO = { arguments: { city: 'Oslo' } }

contract('createPurchase', (start) => {
  it("POST /v4/catalog/items/{id}/purchases pays, and the receipt has the endpoint's answer", async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { item, payer, seller } = shop
    const bought = await purchase(call, { token: payer.token }, item, OSLO)
    expect([bought.status, bought.body]).toEqual([
      201,
      {
        transaction_id: expect.any(Number),
        catalog_item_id: item.id,
        name: 'City weather',
        descriptor: 'CITY.WEATHER',
        seller: item.hostname,
        amount: 0.25,
        dq: item.dq,
        status: 'paid',
        commodity_hash: item.commodity_hash,
        response: { status: 200, content_type: 'application/json', body: '{"story":"The whole story."}' },
        created_at: expect.any(Number),
      },
    ])
    const { transaction_id } = bought.body
    const { body } = await call('GET', `/v4/payments/${transaction_id}`, { token: seller.token })
    expect(body).toMatchObject({ kind: 'purchase', status: 'posted', hash: item.commodity_hash, amount: 0.25 })
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
    const { events } = (await call('GET', '/v4/events?limit=2', { token: seller.token })).body
    const about = { actor: `user:${payer.id}`, subject: `payment:${transaction_id}` }
    expect(events).toMatchObject([
      { type: 'payment.created', ...about },
      { type: 'purchase.paid', ...about },
    ])
  })

  it("pays from the payer's named twin", async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { hostname } = await newTwin(call, shop.payer.token)
    await call('POST', '/_sandbox/fund', { body: { hostname, amount: 1 } })
    const bought = await purchase(call, { token: shop.payer.token }, shop.item, { ...OSLO, hostname })
    expect(bought.status).toBe(201)
    expect(await settledSums(call, shop)).toEqual([10, 0.25])
  })

  it('a session pays without an approval', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const session = await newSession(call, shop.payer.email)
    expect((await purchase(call, { session }, shop.item, OSLO)).status).toBe(201)
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
  })

  it('a free item gets a receipt and moves nothing, also for an agent', async () => {
    const { call, made: shop } = await startWith(start, newShop, { ...at('ok'), price: 0 })
    const { accessToken } = await newAgent(call, { email: shop.payer.email })
    const ids = new Set<number>()
    for (const token of [shop.payer.token, accessToken]) {
      const { status, body } = await purchase(call, { token }, shop.item, OSLO)
      expect([status, body.status, body.amount, body.response.status]).toEqual([201, 'paid', 0, 200])
      ids.add(body.transaction_id)
    }
    ids.add((await pay(call, shop.payer, { hash: shop.item.commodity_hash })).id)
    expect(ids.size).toBe(3)
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })

  it.each([
    ['text', 200, 'text/plain; charset=utf-8', { body: 'Grüße' }],
    ['bytes', 200, 'image/png', { body: 'AP+ACg0=', body_encoding: 'base64' }],
    ['empty', 204, null, { body: '' }],
    ['status/404/', 404, 'application/json', { body: '{"status":"as asked"}' }],
  ] as const)(
    'an endpoint that answers /%s is paid, and its answer delivered',
    { tags: 'everywhere' },
    async (path, status, type, body) => {
      const { call, made: shop } = await startWith(start, newShop, at(path))
      const bought = await purchase(call, { token: shop.payer.token }, shop.item, OSLO)
      expect(bought.body.response).toEqual({ status, content_type: type, ...body })
      expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
    },
  )

  it.each(['status/500/', 'reset', 'hang', 'redirect', 'large'])(
    'an endpoint that answers /%s is not paid',
    { tags: 'everywhere' },
    async (path) => {
      const { call } = await start({ limits: { upstreamMs: 1000, upstreamBytes: 100_000 } })
      const shop = await newShop(call, at(path))
      const { payer, item, seller } = shop
      const refused = await purchase(call, { token: payer.token }, item, OSLO)
      expectProblem(refused, 502, 'upstream_failed')
      expect(refused.text).not.toContain(upstream.url)
      expect(await settledSums(call, shop)).toEqual([10, 0])
      const { body } = await call('GET', `/v4/purchases/${refused.body.transaction_id}`, { token: payer.token })
      const response = path === 'status/500/' ? { status: 500, content_type: 'application/json', body: null } : null
      expect([body.status, body.response]).toEqual(['reversed', response])
      const { events } = (await call('GET', '/v4/events?limit=2', { token: seller.token })).body
      expect(events).toMatchObject([{ type: 'payment.reversed' }, { type: 'purchase.reversed' }])
    },
  )

  it("sends only the declared arguments, in the query or as JSON, and none of the caller's headers", {
    tags: 'everywhere',
  }, async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok?kept=1'))
    const buy = async () => {
      upstream.requests.length = 0
      const headers = { 'x-own': 'caller', cookie: 'session_id=ms_0' }
      const order = { arguments: { city: 'São Paulo & more', hours: 2 } }
      expect((await purchase(call, { token: shop.payer.token, headers }, shop.item, order)).status).toBe(201)
      expect(upstream.requests).toHaveLength(1)
      const [request] = upstream.requests
      for (const name of ['authorization', 'cookie', 'x-own', 'x-session-id'])
        expect(request?.headers[name]).toBeUndefined()
      return request as TestUpstream['requests'][0]
    }
    const got = await buy()
    expect([got.method, got.path, got.body]).toEqual(['GET', '/ok?kept=1&city=S%C3%A3o+Paulo+%26+more&hours=2', ''])
    for (const service_method of ['POST', 'PUT']) {
      await changeItem(call, shop.seller, shop.item, { service_method })
      const sent = await buy()
      expect([sent.method, sent.path]).toEqual([service_method, '/ok?kept=1'])
      expect(JSON.parse(sent.body)).toEqual({ city: 'São Paulo & more', hours: 2 })
      expect(sent.headers['content-type']).toBe('application/json')
    }
  })

  it('fills required inputs into the endpoint, where they cannot leave their place', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok/{input.city}/now?of={input.city}'))
    const buy = (city: string) =>
      purchase(call, { token: shop.payer.token }, shop.item, { arguments: { city, hours: 1 } })
    expect((await buy('a/b?c=d#e&f%2e')).status).toBe(201)
    const text = 'a%2Fb%3Fc%3Dd%23e%26f%252e'
    expect(upstream.requests[0]?.path).toBe(`/ok/${text}/now?of=${text}&hours=1`)
    for (const city of ['.', '..', '']) {
      const refused = await buy(city)
      expectProblem(refused, 422, 'arguments_refused')
      expect(refused.body.argument).toBe('city')
    }
    expect(upstream.requests).toHaveLength(1)
  })

  it.each([
    [{}, 'city', 'missing'],
    [{ city: 5 }, 'city', 'type'],
    [{ city: 'Oslo', hours: 0 }, 'hours', 'less than'],
    [{ city: 'Oslo', host: 'elsewhere.example.test' }, 'host', 'does not declare'],
    [{ city: 'Oslo', constructor: 'x' }, 'constructor', 'does not declare'],
  ])('refuses the arguments %j, charges nothing and calls nobody', async (args, argument, why) => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const refused = await purchase(call, { token: shop.payer.token }, shop.item, { arguments: args })
    expectProblem(refused, 422, 'arguments_refused')
    expect([refused.body.argument, refused.body.reason]).toEqual([argument, expect.stringContaining(why)])
    expect(refused.body.error).toContain(argument)
    expect([upstream.requests.length, await settledSums(call, shop)]).toEqual([0, [10, 0]])
  })

  it('refuses items that are unknown, private, inactive or archived', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { seller, item } = shop
    const buy = () => purchase(call, { token: shop.payer.token }, item, OSLO)
    expectProblem(await purchase(call, { token: shop.payer.token }, { id: 999 }, OSLO), 404, 'not_found')
    await changeItem(call, seller, item, { private: true })
    expectProblem(await buy(), 404, 'not_found')
    await changeItem(call, seller, item, { private: false, active: false })
    expectProblem(await buy(), 409, 'item_inactive')
    await changeItem(call, seller, item, { active: true })
    await call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
    expectProblem(await buy(), 409, 'item_inactive')
    await call('POST', `/v4/catalog/items/${item.id}/restore`, { token: seller.token })
    expectProblem(await buy(), 409, 'item_inactive')
    await changeItem(call, seller, item, { active: true })
    expect((await buy()).status).toBe(201)
  })

  it('refuses a price other than the quoted one, and names it', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const buy = (price: number) => purchase(call, { token: shop.payer.token }, shop.item, { ...OSLO, price })
    await changeItem(call, shop.seller, shop.item, { price: 0.5 })
    const refused = await buy(0.25)
    expectProblem(refused, 409, 'price_changed')
    expect([refused.body.price, await settledSums(call, shop)]).toEqual([0.5, [10, 0]])
    expect((await buy(0.5)).body.amount).toBe(0.5)
  })

  it('a purchase that races a change of price is charged the price of one moment', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { payer, seller, item } = shop
    const [bought] = await Promise.all([
      purchase(call, { token: payer.token }, item, { ...OSLO, price: 0.25 }),
      changeItem(call, seller, item, { price: 9 }),
    ])
    if (bought.status === 409) expectProblem(bought, 409, 'price_changed')
    else expect([bought.status, bought.body.amount]).toEqual([201, 0.25])
    expect(await settledSums(call, shop)).toEqual(bought.status === 201 ? [9.75, 0.25] : [10, 0])
  })

  it('purchases that race an archival either succeed or are refused', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { payer, seller, item } = shop
    const [archived, ...bought] = await Promise.all([
      call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token }),
      ...Array.from({ length: 4 }, () => purchase(call, { token: payer.token }, item, OSLO)),
    ])
    expect(archived?.status).toBe(200)
    const sold = bought.filter(({ status }) => status === 201).length
    for (const answer of bought.filter(({ status }) => status !== 201)) expectProblem(answer, 409, 'item_inactive')
    expect(upstream.requests).toHaveLength(sold)
    expect(await settledSums(call, shop)).toEqual([10 - sold / 4, sold / 4])
  })

  it("refuses to overdraw the payer's twin, and twins of others", async () => {
    const { call, made: shop } = await startWith(start, newShop, { ...at('ok'), price: 10.001 })
    expectProblem(await purchase(call, { token: shop.payer.token }, shop.item, OSLO), 402, 'insufficient_funds')
    const from = { ...OSLO, hostname: shop.item.hostname }
    expectProblem(await purchase(call, { token: shop.payer.token }, shop.item, from), 403, 'not_owner')
    expect([upstream.requests.length, await settledSums(call, shop)]).toEqual([0, [10, 0]])
  })

  it('tells an agent what to request an approval for', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { accessToken } = await newAgent(call, { email: shop.payer.email })
    const refused = await purchase(call, { token: accessToken }, shop.item, OSLO)
    expectProblem(refused, 403, 'approval_required')
    expect(refused.body.approval).toEqual({ kind: 'purchase', catalog_item_id: shop.item.id, ...OSLO })
    expect(await settledSums(call, shop)).toEqual([10, 0])
  })

  it('an account and a page with a public_secret pay with a delegate, which reversed purchases do not use up', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    const { payer, seller, item } = shop
    const other = await newSeller(call)
    expectProblem(await purchase(call, { token: other.token }, item, OSLO), 403, 'delegate_required')
    const embed = { ...OSLO, public_secret: other.publicSecret }
    expectProblem(await purchase(call, {}, item, embed), 403, 'delegate_required')
    const unknown = { ...OSLO, persona_delegate: UNKNOWN_HASH }
    expectProblem(await purchase(call, { token: other.token }, item, unknown), 403, 'delegate_refused')
    const { hash: persona } = await newPersona(call, payer)
    const spend = { party: { client_id: other.clientId }, dq: item.dq, limit: 0.25 }
    const given = await newDelegate(call, { token: payer.token }, { persona, hostname: item.hostname, spend })
    const order = { ...OSLO, persona_delegate: given.hash }
    await changeItem(call, seller, item, at('status/503/'))
    expectProblem(await purchase(call, { token: other.token }, item, order), 502, 'upstream_failed')
    await changeItem(call, seller, item, at('ok'))
    const bought = await purchase(call, { token: other.token }, item, order)
    expect(bought.status).toBe(201)
    expect((await call('GET', `/v4/purchases/${bought.body.transaction_id}`, { token: other.token })).body).toEqual(
      bought.body,
    )
    expectProblem(await purchase(call, { token: other.token }, item, order), 403, 'delegate_refused')
    expect(await settledSums(call, shop)).toEqual([9.75, 0.25])
  })

  it("refuses to pay an item's own twin", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const twin = await newTwin(call, seller.token)
    await call('POST', '/_sandbox/fund', { body: { hostname: twin.hostname, amount: 1 } })
    const item = await newItem(call, seller, { ...at('ok'), twin_id: twin.id })
    const { hash: persona } = await newPersona(call, seller)
    const spend = { party: { client_id: seller.clientId }, dq: item.dq, limit: 1 }
    const given = await newDelegate(call, { token: seller.token }, { persona, hostname: twin.hostname, spend })
    const order = { ...OSLO, persona_delegate: given.hash }
    expectProblem(await purchase(call, { token: seller.token }, item, order), 422, 'same_twin')
  })

  it('buys once with an Idempotency-Key, and returns the same receipt again', async () => {
    const { call, made: shop } = await startWith(start, newShop, at('slow'))
    const keyed = { token: shop.payer.token, headers: { 'idempotency-key': 'once' } }
    const buy = (body: object) => purchase(call, keyed, shop.item, body)
    const answers = await Promise.all([buy(OSLO), buy(OSLO)])
    const running = answers.filter(({ status }) => status === 409)
    for (const answer of running) expectProblem(answer, 409, 'idempotency_in_progress')
    const [first] = answers.filter(({ status }) => status === 201)
    const again = await buy(OSLO)
    expect([again.headers.get('idempotent-replayed'), again.text]).toEqual(['true', first?.text])
    expectProblem(await buy({ arguments: { city: 'Rome' } }), 422, 'idempotency_mismatch')
    expect([upstream.requests.length, await settledSums(call, shop)]).toEqual([1, [9.75, 0.25]])
  })

  it("names the seller by the account's name", async () => {
    const { call, made: shop } = await startWith(start, newShop, at('ok'))
    await call('PUT', '/v4/account', { token: shop.seller.token, body: { businessName: 'Weather Ltd' } })
    const { body } = await purchase(call, { token: shop.payer.token }, shop.item, OSLO)
    expect(body.seller).toBe('Weather Ltd')
  })
})
