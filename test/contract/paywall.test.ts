import { afterAll, beforeAll, expect, it } from 'vitest'
import { contract } from '../support/contract.js'
import { advance, expectProblem, stopClock, UNKNOWN_DQ } from '../support/market.js'
import { newAgent } from '../support/oidc.js'
import {
  askedAuthorization,
  newMarket,
  newPage,
  ORIGIN,
  paymentHeaders,
  paywall,
  setPhone,
  settledBalances,
} from '../support/paywall.js'
import { registerDevice } from '../support/second-factor.js'
import { startUpstream, type TestUpstream } from '../support/upstream.js'
import { newSession } from '../support/world.js'

let upstream: TestUpstream
beforeAll(async () => {
  upstream = await startUpstream()
})
afterAll(() => upstream.close())

contract('callPaywall', (start) => {
  it('POST /v4/paywall pays whom it names, and says so', async () => {
    const { call } = await start()
    const market = await newMarket(call)
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
    expect(events[0]).toMatchObject({ actor: `user:${payer.id}`, subject: `payment:${id}` })
  })

  it('calls the service that is paid for, and passes its answer on', async () => {
    const { call } = await start()
    const market = await newMarket(call)
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

  it.each([
    ['text', 200, 'text/plain; charset=utf-8', 'Grüße'],
    ['pieces', 200, 'text/event-stream', 'one two three'],
    ['status/201', 201, 'application/json', '{"status":"as asked"}'],
    ['status/404', 404, 'application/json', '{"status":"as asked"}'],
    ['empty', 204, 'application/octet-stream', ''],
  ])('passes on what /%s answers', async (path, status, type, text) => {
    const { call } = await start()
    const market = await newMarket(call)
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/${path}` }
    const paid = await paywall(call, { token: market.payer.token }, order)
    expect([paid.status, paid.headers.get('content-type'), paid.text]).toEqual([status, type, text])
    expect(paymentHeaders(paid).status).toBe('posted')
    expect(await settledBalances(call, market)).toEqual([9, 1])
  })

  it('sends what is declared, by the query or as JSON, and nothing of the caller', async () => {
    const { call } = await start()
    const { payer, shop } = await newMarket(call)
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

  it("passes no header of the service's on but the type of what it answers, and gives that no origin", async () => {
    const { call } = await start()
    const { payer, shop } = await newMarket(call)
    const order = { amount: 0.1, destination: shop, serviceUrl: `${upstream.url}/cookie` }
    const { headers } = await paywall(call, { token: payer.token }, order)
    expect([headers.get('set-cookie'), headers.get('x-secret'), headers.get('server')]).toEqual([null, null, null])
    expect(headers.get('content-security-policy')).toContain('sandbox')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('reverses the payment for a service that fails, and passes its failure on', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/status/503` }
    const answer = await paywall(call, { token: market.payer.token }, order)
    expect([answer.status, answer.body]).toEqual([503, { status: 'as asked' }])
    const { id, status } = paymentHeaders(answer)
    expect(status).toBe('reversed')
    const { body } = await call('GET', `/v4/payments/${id}`, { token: market.seller.token })
    expect(body.status).toBe('reversed')
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it('answers 502 and reverses the payment for a service that gives no whole answer', async () => {
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

  it.each([
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
  ] as const)('refuses %o, and moves nothing', async (change, status, code) => {
    const { call } = await start()
    const market = await newMarket(call)
    const order = { amount: 1, destination: market.shop, ...change }
    expectProblem(await paywall(call, { token: market.payer.token }, order), status, code)
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it("refuses to pay the payer's own twin", async () => {
    const { call } = await start()
    const { payer } = await newMarket(call)
    const refused = await paywall(call, { token: payer.token }, { amount: 1, destination: payer.hostname })
    expectProblem(refused, 422, 'same_twin')
  })
})

contract('callPaywall by a session', (start) => {
  it('a page asks with no more than an amount: its user approves on their phone, and its seller is paid', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const page = await newPage(call, market, 'approve')
    const paid = await paywall(call, page, { amount: 0.5 })
    expect([paid.status, paid.body.approved, paid.body.payment.payee_hostname]).toEqual([200, true, market.shop])
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
    const [asked] = (await call('GET', '/v4/paywall/authorizations', { token: market.payer.token })).body.authorizations
    expect(asked).toMatchObject({ status: 'approved', merchant_url: ORIGIN, merchant_name: market.shop })
    expect(asked.metadata).toMatchObject({ payee: market.shop, amount: expect.stringMatching(/^0\.500 /) })
  })

  it('is refused where the user rejects, and moves nothing', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const page = await newPage(call, market, 'reject')
    expectProblem(await paywall(call, page, { amount: 0.5 }), 403, 'rejected')
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it('answers 408 where the user does not answer within thirty seconds', async () => {
    const { call } = await start()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const answer = paywall(call, page, { amount: 0.5 })
    await askedAuthorization(call, market.payer)
    await advance(call, '30s')
    expectProblem(await answer, 408, 'approval_timeout')
    expect(await settledBalances(call, market)).toEqual([10, 0])
    const { type } = (await call('GET', '/v4/events?limit=1', { token: market.payer.token })).body.events[0]
    expect(type).toBe('second_factor.expired')
  })

  it('asks nobody twice for a request that a browser sends again by itself after a 408', async () => {
    const { call } = await start()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const asked = async () =>
      (await call('GET', '/v4/paywall/authorizations', { token: market.payer.token })).body.authorizations.length
    const answer = paywall(call, page, { amount: 0.5 })
    await askedAuthorization(call, market.payer)
    await advance(call, '30s')
    expectProblem(await answer, 408, 'approval_timeout')
    expectProblem(await paywall(call, page, { amount: 0.5 }), 408, 'approval_timeout')
    expect(await asked()).toBe(1)
    await setPhone(call, market.payer, 'approve')
    expect((await paywall(call, page, { amount: 0.5 })).status).toBe(200)
    expect(await asked()).toBe(2)
  })

  it('is answered by existing clients through PUT /v3/paywall/authorizations too', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const page = await newPage(call, market)
    const answer = paywall(call, page, { amount: 0.5, serviceUrl: `${upstream.url}/ok` })
    const { id, payment_type_hash } = await askedAuthorization(call, market.payer)
    expect(payment_type_hash).toMatch(/^41/)
    const body = { authorizationId: id, approved: true }
    await call('PUT', '/v3/paywall/authorizations', { token: market.payer.token, body })
    expect((await answer).body).toEqual({ story: 'The whole story.' })
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
  })

  it("the user's own session is asked as well, and names whom to pay", async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const session = await newSession(call, market.payer.email)
    await registerDevice(call, { session })
    await setPhone(call, market.payer, 'approve')
    expectProblem(await paywall(call, { session }, { amount: 0.5 }), 400, 'destination_unknown')
    expect((await paywall(call, { session }, { amount: 0.5, destination: market.shop })).status).toBe(200)
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
  })

  it('asks nobody about what cannot be paid', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const page = await newPage(call, market, 'approve')
    expectProblem(await paywall(call, page, { amount: 10.5 }), 402, 'insufficient_funds')
    const { authorizations } = (await call('GET', '/v4/paywall/authorizations', { token: market.payer.token })).body
    expect(authorizations).toEqual([])
  })

  it('asks for no more than five payments at a time', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const { token } = market.payer
    for (let n = 0; n < 5; n++)
      await call('POST', '/v4/authentication-requests', { token, body: { action: 'other', detail: {} } })
    expectProblem(await paywall(call, page, { amount: 0.5 }), 429, 'too_many_pending')
  })

  it("is of no use to a page of another origin, nor with another's delegate", async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const { session } = await newPage(call, market, 'reject')
    const elsewhere = { session: session as string, headers: { origin: 'https://elsewhere.example.test' } }
    expectProblem(await paywall(call, elsewhere, { amount: 0.5 }), 401, 'page_refused')
    const persona_delegate = `41${'0'.repeat(64)}`
    const own = { session: session as string, headers: { origin: ORIGIN } }
    expectProblem(await paywall(call, own, { amount: 0.5, persona_delegate }), 403, 'rejected')
  })
})

contract('callPaywall by an authority that was delegated', (start) => {
  it('an agent is told what to ask approval for', async () => {
    const { call } = await start()
    const { accessToken } = await newAgent(call)
    const order = { amount: 0.5, serviceUrl: `${upstream.url}/ok`, additionalParams: { q: 'rain' } }
    const refused = await paywall(call, { token: accessToken }, order)
    expectProblem(refused, 403, 'approval_required')
    expect(refused.body.approval).toEqual({ kind: 'paywall', serviceMethod: 'GET', ...order })
  })

  it('an account and a page with a public_secret need a delegate', async () => {
    const { call } = await start()
    const { seller, shop } = await newMarket(call)
    const order = { amount: 0.5, destination: shop }
    expectProblem(await paywall(call, { token: seller.token }, order), 403, 'delegate_required')
    const embed = await paywall(call, {}, { ...order, public_secret: seller.publicSecret })
    expectProblem(embed, 403, 'delegate_required')
    const persona_delegate = `41${'0'.repeat(64)}`
    const unknown = await paywall(call, { token: seller.token }, { ...order, persona_delegate })
    expectProblem(unknown, 403, 'delegate_refused')
  })

  it("the named party pays from the persona's twin within its limit, which a reversed payment does not use up", async () => {
    const { call } = await start()
    const market = await newMarket(call)
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

contract('callPaywall under an Idempotency-Key', (start) => {
  const keyed = (token: string, key = 'once') => ({ token, headers: { 'idempotency-key': key } })

  it('pays and calls once, and gives the same answer again, byte for byte', async () => {
    const { call, fetch, url } = await start()
    const market = await newMarket(call)
    const caller = keyed(market.payer.token)
    for (const [n, path] of ['ok', 'bytes', 'pieces', 'status/500', 'status/404'].entries()) {
      upstream.requests.length = 0
      const ask = async () => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${caller.token}` }
        const body = JSON.stringify({ amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/${path}` })
        const sent = { method: 'POST', headers: { ...headers, 'idempotency-key': `key ${n}` }, body }
        const answer = await fetch(new Request(`${url}/v4/paywall`, sent))
        const bytes = [...new Uint8Array(await answer.arrayBuffer())]
        return { status: answer.status, id: answer.headers.get('x-payment-id'), bytes, headers: answer.headers }
      }
      const [first, again] = [await ask(), await ask()]
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect({ ...again, headers: null }).toEqual({ ...first, headers: null })
      expect(upstream.requests).toHaveLength(1)
    }
    expect(await settledBalances(call, market)).toEqual([6, 4])
  })

  it('calls a service that fails once: what was paid back stays so', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    upstream.requests.length = 0
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/truncated` }
    const answers = [
      await paywall(call, keyed(market.payer.token), order),
      await paywall(call, keyed(market.payer.token), order),
    ]
    for (const answer of answers) expectProblem(answer, 502, 'upstream_failed')
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(upstream.requests).toHaveLength(1)
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it('twenty at once call once; the others are told that it still runs', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    upstream.requests.length = 0
    const order = { amount: 1, destination: market.shop, serviceUrl: `${upstream.url}/slow` }
    const answers = await Promise.all(Array.from({ length: 20 }, () => paywall(call, keyed(market.payer.token), order)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const others = answers.filter(({ status }) => status !== 200)
    for (const other of others) expectProblem(other, 409, 'idempotency_in_progress')
    expect(others[0]?.headers.get('retry-after')).toBe('1')
    expect(upstream.requests).toHaveLength(1)
    expect((await paywall(call, keyed(market.payer.token), order)).body).toEqual({ slow: true })
    expect(await settledBalances(call, market)).toEqual([9, 1])
  })

  it('keeps a refusal, but not one that time or the caller mends', async () => {
    const { call } = await start()
    const market = await newMarket(call)
    const { token } = market.payer
    const order = { amount: 11, destination: market.shop }
    const short = [await paywall(call, keyed(token), order), await paywall(call, keyed(token), order)]
    for (const answer of short) expectProblem(answer, 402, 'insufficient_funds')
    expect(short[1]?.headers.get('idempotent-replayed')).toBe('true')
    expectProblem(await paywall(call, keyed(token, 'two'), { amount: 0 }), 400, 'amount_invalid')
    expect((await paywall(call, keyed(token, 'two'), { amount: 1, destination: market.shop })).status).toBe(200)
    const other = await paywall(call, keyed(token, 'two'), { amount: 2, destination: market.shop })
    expectProblem(other, 422, 'idempotency_mismatch')
  })

  it('may be used again after a timeout, which asks the user again', async () => {
    const { call } = await start()
    await stopClock(call)
    const market = await newMarket(call)
    const page = await newPage(call, market, 'ignore')
    const caller = { ...page, headers: { ...page.headers, 'idempotency-key': 'once' } }
    const answer = paywall(call, caller, { amount: 0.5 })
    await askedAuthorization(call, market.payer)
    await advance(call, '30s')
    expectProblem(await answer, 408, 'approval_timeout')
    await setPhone(call, market.payer, 'approve')
    await advance(call, '2s')
    expect((await paywall(call, caller, { amount: 0.5 })).status).toBe(200)
    expect(await settledBalances(call, market)).toEqual([9.5, 0.5])
  })
})
