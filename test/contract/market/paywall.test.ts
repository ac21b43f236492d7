import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { newMarket, paymentHeaders, paywall, settledBalances } from '../../support/scenes/paywall.js'
import { type TestUpstream, useUpstream } from '../../support/scenes/upstream.js'

const upstream = useUpstream()

contract('callPaywall', (start) => {
  it('POST /v4/paywall pays the named payee, and says so', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const { payer, shop, seller } = market
    const paid = await paywall(call, { token: payer.token }, { amount: 0.25, destination: shop })
    expect([paid.status, paid.body]).toEqual([
      200,
      {
        approved: true,
        payment: expect.objectContaining({
          hash: null,
          descriptor: 'PAYWALL',
          amount: 0.25,
          hostname: payer.hostname,
          payee_hostname: shop,
          kind: 'paywall',
          status: 'posted',
        }),
      },
    ])
    const { id } = paid.body.payment
    expect(paymentHeaders(paid)).toEqual({ id, status: 'posted' })
    for (const { token } of [payer, seller])
      expect((await call('GET', `/v4/payments/${id}`, { token })).body).toEqual(paid.body.payment)
    expect(await settledBalances(call, market)).toEqual([9.75, 0.25])
    const { events } = (await call('GET', '/v4/events?type=payment.created', { token: seller.token })).body
    expect(events).toMatchObject([{ actor: `user:${payer.id}`, subject: `payment:${id}` }])
  })

  it("calls the seller's endpoint and relays its answer", async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const { payer, shop, seller } = market
    const order = { amount: 0.25, destination: shop, serviceUrl: `${upstream.url}/ok/story` }
    const paid = await paywall(call, { token: payer.token }, order)
    expect([paid.status, paid.body]).toEqual([200, { story: 'The whole story.' }])
    expect(paid.headers.get('content-type')).toBe('application/json')
    const { id, status } = paymentHeaders(paid)
    expect(status).toBe('posted')
    const { body } = await call('GET', `/v4/payments/${id}`, { token: seller.token })
    expect(body).toMatchObject({ status: 'posted', kind: 'paywall', descriptor: new URL(upstream.url).host })
    expect(await settledBalances(call, market)).toEqual([9.75, 0.25])
  })

  it('relays the answer of the endpoint', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const { call, made: market } = await startWith(start, newMarket)
    let sold = 0
    for (const [path, status, type, text] of [
      ['text', 200, 'text/plain; charset=utf-8', 'Grüße'],
      ['pieces', 200, 'text/event-stream', 'one two three'],
      ['status/201', 201, 'application/json', '{"status":"as asked"}'],
      ['status/404', 404, 'application/json', '{"status":"as asked"}'],
      ['empty', 204, 'application/octet-stream', ''],
    ]) {
      const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/${path}` }
      const paid = await paywall(call, { token: market.payer.token }, order)
      expect([paid.status, paid.headers.get('content-type'), paid.text], path as string).toEqual([status, type, text])
      expect(paymentHeaders(paid).status).toBe('posted')
      expect(await settledBalances(call, market)).toEqual([10 - ++sold, sold])
    }
  })

  it("sends only the declared parameters, in the query or as JSON, and none of the caller's headers", async () => {
    const {
      call,
      made: { payer, shop },
    } = await startWith(start, newMarket)
    const ask = async (more: object) => {
      upstream.requests.length = 0
      const headers = { 'x-own': 'caller', cookie: 'session_id=ms_0' }
      const order = { amount: 0.1, destination: shop, serviceUrl: `${upstream.url}/ok?kept=1`, ...more }
      expect((await paywall(call, { token: payer.token, headers }, order)).status).toBe(200)
      expect(upstream.requests).toHaveLength(1)
      return upstream.requests[0] as TestUpstream['requests'][0]
    }
    const additionalParams = { text: 'a&b', count: 2, list: ['x', 'y'], nested: { z: true } }
    const got = await ask({ additionalParams })
    expect([got.method, got.path]).toEqual([
      'GET',
      `/ok?kept=1&text=a%26b&count=2&list=x&list=y&nested=${encodeURIComponent('{"z":true}')}`,
    ])
    for (const serviceMethod of ['POST', 'PUT']) {
      const sent = await ask({ serviceMethod, additionalParams })
      expect([sent.method, sent.path, JSON.parse(sent.body)]).toEqual([serviceMethod, '/ok?kept=1', additionalParams])
      expect(sent.headers['content-type']).toBe('application/json')
      for (const name of ['authorization', 'cookie', 'x-own', 'x-session-id'])
        expect(sent.headers[name]).toBeUndefined()
    }
  })

  it("relays only the content type of the endpoint's headers, and gives the answer no origin", {
    tags: ['everywhere', 'pages'],
  }, async () => {
    const {
      call,
      made: { payer, shop },
    } = await startWith(start, newMarket)
    const order = { amount: 0.1, destination: shop, serviceUrl: `${upstream.url}/cookie` }
    const { headers } = await paywall(call, { token: payer.token }, order)
    expect([headers.get('set-cookie'), headers.get('x-secret'), headers.get('server')]).toEqual([null, null, null])
    expect(headers.get('content-security-policy')).toContain('sandbox')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('reverses the payment of a failing endpoint, and relays the failure', {
    tags: 'everywhere',
  }, async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/status/503` }
    const answer = await paywall(call, { token: market.payer.token }, order)
    expect([answer.status, answer.body]).toEqual([503, { status: 'as asked' }])
    const { id, status } = paymentHeaders(answer)
    expect(status).toBe('reversed')
    const { body } = await call('GET', `/v4/payments/${id}`, { token: market.seller.token })
    expect(body.status).toBe('reversed')
    expect(await settledBalances(call, market)).toEqual([10, 0])
    const { events } = (await call('GET', '/v4/events', { token: market.seller.token })).body
    const aboutPayments = events.filter(({ subject }: { subject: string | null }) => subject === `payment:${id}`)
    expect(aboutPayments).toMatchObject([{ type: 'payment.reversed', actor: `user:${market.payer.id}` }])
  })

  it('answers 502 and reverses the payment of an endpoint without a whole answer', async () => {
    const { call } = await start({ limits: { upstreamMs: 1000, upstreamBytes: 100_000 } })
    const market = await newMarket(call)
    for (const path of ['redirect', 'reset', 'hang', 'large']) {
      const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/${path}` }
      const answer = await paywall(call, { token: market.payer.token }, order)
      expectProblem(answer, 502, 'upstream_failed')
      expect(paymentHeaders(answer).status).toBe('reversed')
      expect(answer.text).not.toContain(upstream.url)
      expect(await settledBalances(call, market)).toEqual([10, 0])
    }
  })

  it('refuses what cannot be paid or called, and moves nothing', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const refused = [
      [{ amount: 0 }, 400, 'amount_invalid'],
      [{ amount: -1 }, 400, 'amount_invalid'],
      [{ amount: 0.0001 }, 400, 'amount_invalid'],
      [{ dq: UNKNOWN_DQ }, 400, 'dq_unknown'],
      [{ destination: 'nobody.twin.localhost' }, 400, 'destination_unknown'],
      [{ destination: undefined }, 400, 'destination_unknown'],
      [{ amount: 11 }, 402, 'insufficient_funds'],
      [{ serviceMethod: 'DELETE' }, 400, 'field_invalid'],
      [{ serviceUrl: 'file:///etc/passwd' }, 422, 'upstream_refused'],
      [{ serviceUrl: 'http://user:secret@upstream.example.test/' }, 422, 'upstream_refused'],
      [{ serviceUrl: 'http://169.254.169.254/latest/meta-data' }, 422, 'upstream_refused'],
      [{ serviceUrl: 'http://[::ffff:a9fe:a9fe]/' }, 422, 'upstream_refused'],
      [{ serviceUrl: 'http://upstream.example.test/\r\nx: y' }, 422, 'upstream_refused'],
    ] as const
    for (const [change, status, code] of refused) {
      const order = { amount: 1, destination: market.shop, ...change }
      expectProblem(await paywall(call, { token: market.payer.token }, order), status, code)
      expect(await settledBalances(call, market), JSON.stringify(change)).toEqual([10, 0])
    }
  })

  it("refuses to pay the payer's own twin", async () => {
    const {
      call,
      made: { payer },
    } = await startWith(start, newMarket)
    const refused = await paywall(call, { token: payer.token }, { amount: 1, destination: payer.hostname })
    expectProblem(refused, 422, 'same_twin')
  })
})

contract('callPaywall by an authority that was delegated', (start) => {
  it('tells an agent what to request an approval for', async () => {
    const {
      call,
      made: { shop: destination },
    } = await startWith(start, newMarket)
    const { accessToken } = await newAgent(call)
    const order = { amount: 0.5, destination, serviceUrl: `${upstream.url}/ok`, additionalParams: { q: 'rain' } }
    const refused = await paywall(call, { token: accessToken }, order)
    expectProblem(refused, 403, 'approval_required')
    expect(refused.body.approval).toEqual({ kind: 'paywall', serviceMethod: 'GET', ...order })
  })

  it('an account and a page with a public_secret need a delegate', async () => {
    const {
      call,
      made: { seller, shop },
    } = await startWith(start, newMarket)
    const order = { amount: 0.5, destination: shop }
    expectProblem(await paywall(call, { token: seller.token }, order), 403, 'delegate_required')
    const embed = await paywall(call, {}, { ...order, public_secret: seller.publicSecret })
    expectProblem(embed, 403, 'delegate_required')
    const persona_delegate = `41${'0'.repeat(64)}`
    const unknown = await paywall(call, { token: seller.token }, { ...order, persona_delegate })
    expectProblem(unknown, 403, 'delegate_refused')
  })

  it("the named party pays from the persona's twin within its limit, which reversed payments do not use up", {
    tags: 'everywhere',
  }, async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const { payer, seller, shop } = market
    const twin = (await call('GET', `/v4/twin/${payer.hostname}`, { token: payer.token })).body
    const persona = await call('POST', '/v4/persona', {
      token: payer.token,
      body: { name: 'Reader', twin_id: twin.id },
    })
    const spend = { party: { public_secret: seller.publicSecret }, dq: Object.keys(twin.balances)[0], limit: 1 }
    const given = await call('POST', `/v4/persona/${persona.body.hash}/delegate`, {
      token: payer.token,
      body: { hostname: shop, spend },
    })
    expect(given.status).toBe(201)
    const ask = (order: object) =>
      paywall(call, {}, { persona_delegate: given.body.hash, public_secret: seller.publicSecret, ...order })
    expect((await ask({ amount: 1, serviceUrl: `${upstream.url}/status/500` })).status).toBe(500)
    const paid = await ask({ amount: 0.75, serviceUrl: `${upstream.url}/ok` })
    expect([paid.status, paymentHeaders(paid).status]).toEqual([200, 'posted'])
    expectProblem(await ask({ amount: 0.5 }), 403, 'delegate_refused')
    expect((await ask({ amount: 0.25 })).body.payment).toMatchObject({ hostname: payer.hostname, payee_hostname: shop })
    expect(await settledBalances(call, market)).toEqual([9, 1])
  })
})
