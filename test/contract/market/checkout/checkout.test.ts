import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../../adapters/storage/memory.js'
import { createService } from '../../../../src/index.js'
import { type Call, type CallOptions, caller } from '../../../support/api.js'
import { contract, type Start } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import {
  changeItem,
  complete,
  type Gate,
  guest,
  makeCheckout,
  newLink,
  newLinkAt,
  newShop,
  readCheckout,
  settled,
  startGate,
  statusOf,
} from '../../../support/scenes/checkout.js'
import { expectProblem, setClock, stopClock } from '../../../support/scenes/market.js'
import { newAgent } from '../../../support/scenes/oidc.js'
import { DAY, typesOf } from '../../../support/scenes/transfers.js'
import { useUpstream } from '../../../support/scenes/upstream.js'
import { newPayer, newSession, newTwin } from '../../../support/scenes/world.js'

const upstream = useUpstream()
let gate: Gate
beforeAll(async () => {
  gate = await startGate()
})
beforeEach(() => gate.shut())
afterAll(async () => {
  await gate.close()
})

const prepared = (start: Start, made?: Parameters<typeof newLink>[2]) => newLink(start, upstream, made)
const preparedAt = (start: Start) => newLinkAt(start, upstream)

contract('createCheckout', (start) => {
  it('POST /v4/checkout creates a link that lasts 24 hours', async () => {
    const { call, url } = await start()
    const at = await stopClock(call)
    const shop = await newShop(call, `${upstream.url}/ok`)
    const made = await makeCheckout(call, shop, { email: 'ada@example.test' })
    const { token } = made.body
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(Number),
        token: expect.stringMatching(/^co_[\w-]{32}$/),
        url: `${url}/checkout/${token}`,
        status: 'unpaid',
        catalog_item_id: shop.item.id,
        name: 'A story',
        price: 2,
        dq: shop.item.dq,
        expires_at: (at + DAY) / 1000,
        created_at: at / 1000,
      },
    ])
  })

  it('an account, a user, an app, a session and a guest can create one, each with its own secret', async () => {
    const { call, made: shop } = await startWith(start, newShop, `${upstream.url}/ok`)
    const callers: CallOptions[] = [
      { token: shop.seller.token },
      { token: shop.payer.token },
      { token: (await newAgent(call)).accessToken },
      { session: await newSession(call, shop.payer.email) },
      await guest(call),
      {},
    ]
    const tokens = new Set<string>()
    for (const caller of callers) {
      const made = await makeCheckout(call, shop, {}, caller)
      expect(made.status).toBe(201)
      tokens.add(made.body.token)
    }
    expect(tokens.size).toBe(callers.length)
  })

  it('does not store the secret of a link', async () => {
    const { call, link, state } = await prepared(start)
    expect((await readCheckout(call, link)).status).toBe(200)
    expect(JSON.stringify(await state())).not.toContain(link.token)
  })

  it('refuses items that are not for sale, and arguments that break the schema', async () => {
    const { call, shop } = await prepared(start)
    expectProblem(await makeCheckout(call, shop, { catalog_item_id: 999_999 }), 404, 'not_found')
    for (const args of [{}, { topic: 1 }, { topic: 'birds', price: 0 }])
      expectProblem(await makeCheckout(call, shop, { arguments: args }), 422, 'arguments_refused')
    await changeItem(call, shop, { active: false })
    expectProblem(await makeCheckout(call, shop), 409, 'item_inactive')
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '/back',
    'https://user@shop.example.test/',
    'https://shop.example.test/ x',
    'https://',
    ['one that is too long', `https://shop.example.test/${'x'.repeat(2048)}`],
  ])('refuses the return address %s', async (title, address = title) => {
    const { call, shop } = await prepared(start)
    for (const field of ['success_url', 'cancel_url']) {
      const refused = await makeCheckout(call, shop, { [field]: address })
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe(field)
    }
  })

  it('creates one link for each Idempotency-Key', async () => {
    const { call, shop } = await prepared(start)
    const caller = { token: shop.seller.token, headers: { 'idempotency-key': 'once' } }
    const [one, two] = [await makeCheckout(call, shop, {}, caller), await makeCheckout(call, shop, {}, caller)]
    expect(two.body).toEqual(one.body)
    const other = await makeCheckout(call, shop, { email: 'ada@example.test' }, caller)
    expectProblem(other, 422, 'idempotency_mismatch')
  })
})

describe('a checkout in a service with another encryption key', () => {
  it('is not created again for an Idempotency-Key, and its link still works', async () => {
    const storage = memoryStorage()
    const [one, other] = ['11', '22'].map((byte) => {
      const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
      return caller({ url: service.baseUrl, fetch: service.fetch })
    }) as [Call, Call]
    const shop = await newShop(one, `${upstream.url}/ok`)
    const maker = { token: shop.seller.token, headers: { 'idempotency-key': 'once' } }
    const { body: link } = await makeCheckout(one, shop, {}, maker)
    expectProblem(await makeCheckout(other, shop, {}, maker), 409, 'idempotency_unreadable')
    expect((await complete(one, link, shop.payer)).status).toBe(200)
    const { receipt } = (await complete(other, link, shop.payer)).body
    expect(receipt).toMatchObject({ status: 'paid', response: { status: 200, body: null } })
  })
})

contract('readCheckout', (start) => {
  it('GET /v4/checkout/{token} shows it to everybody with the link', async () => {
    const { call, shop, link } = await prepared(start)
    expect((await readCheckout(call, link)).body).toEqual((await readCheckout(call, link)).body)
    const { body } = await readCheckout(call, link)
    expect(body).toMatchObject({ ...link, status: 'unpaid' })
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    const paid = await readCheckout(call, link)
    expect(paid.body).toMatchObject({ status: 'paid', id: link.id })
    expect(paid.text).not.toContain('The whole story.')
  })

  it('is 404 for a wrong secret', async () => {
    const { call, link } = await prepared(start)
    for (const token of [`${link.token}x`, link.token.slice(0, -1), String(link.id), 'x'])
      expectProblem(await readCheckout(call, { token }), 404, 'not_found')
  })

  it('is 410 after it expires', async () => {
    const { call, at, link } = await preparedAt(start)
    await setClock(call, at + DAY - 1)
    expect((await readCheckout(call, link)).body.status).toBe('unpaid')
    await setClock(call, at + DAY)
    expectProblem(await readCheckout(call, link), 410, 'checkout_expired')
  })
})

contract('completeCheckout, from a wallet', (start) => {
  it('POST /v4/checkout/{token}/complete pays, calls the endpoint, and returns the receipt', async () => {
    const { call, shop, link } = await prepared(start)
    upstream.requests.length = 0
    const paid = await complete(call, link, shop.payer)
    expect(paid.status).toBe(200)
    expect(paid.body).toMatchObject({ id: link.id, token: link.token, status: 'paid', price: 2 })
    expect(paid.body.receipt).toMatchObject({
      transaction_id: expect.any(Number),
      catalog_item_id: shop.item.id,
      name: 'A story',
      descriptor: 'STORY',
      amount: 2,
      dq: shop.item.dq,
      status: 'paid',
      commodity_hash: shop.item.commodity_hash,
    })
    expect(JSON.parse(paid.body.receipt.response.body)).toEqual({ story: 'The whole story.' })
    expect(upstream.requests.map(({ method, path }) => [method, path])).toEqual([['GET', '/ok?topic=birds']])
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
    const { body } = await call('GET', `/v4/purchases/${paid.body.receipt.transaction_id}`, { token: shop.payer.token })
    expect(body).toEqual(paid.body.receipt)
  })

  it("pays from the named twin, which must be the payer's", async () => {
    const { call, shop, link } = await prepared(start)
    const { hostname } = await newTwin(call, shop.payer.token)
    expectProblem(await complete(call, link, shop.payer, { hostname: shop.item.hostname }), 403, 'not_owner')
    expectProblem(await complete(call, link, shop.payer, { hostname: 'nobody.twin.localhost' }), 404, 'not_found')
    expectProblem(await complete(call, link, shop.payer, { hostname }), 402, 'insufficient_funds')
    await call('POST', '/_sandbox/fund', { body: { hostname, amount: 2 } })
    expect((await complete(call, link, shop.payer, { hostname })).status).toBe(200)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('a session pays without an approval', async () => {
    const { call, shop, link } = await prepared(start)
    const session = await newSession(call, shop.payer.email)
    expect((await complete(call, link, { session })).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ payer: 8 })
    // The same user, however they call.
    expect((await complete(call, link, shop.payer)).status).toBe(200)
  })

  it('a page session of another site cannot pay', async () => {
    const { call, shop, link } = await prepared(start)
    const session = await newSession(call, shop.payer.email)
    const page = { hash: shop.item.commodity_hash, origin: 'https://shop.example.test' }
    const { session_id } = (await call('POST', '/v4/session/page', { session, body: page })).body
    const own = { session: session_id, headers: { origin: 'https://shop.example.test' } }
    expectProblem(await complete(call, link, own), 403, 'wrong_principal')
    expectProblem(await makeCheckout(call, shop, {}, own), 403, 'wrong_principal')
  })

  it('returns the receipt again to the same payer, and to nobody else', async () => {
    const { call, shop, seller, link } = await prepared(start)
    const other = await newPayer(call, seller, { balance: 10 })
    const first = await complete(call, link, shop.payer)
    upstream.requests.length = 0
    expect((await complete(call, link, shop.payer)).body).toEqual(first.body)
    expect((await complete(call, link, shop.payer, { payment_method_id: 'pm_card_visa' })).body).toEqual(first.body)
    for (const caller of [other, { session: await newSession(call, other.email) }])
      expectProblem(await complete(call, link, caller), 409, 'checkout_paid')
    expectProblem(await complete(call, link, await guest(call), { payment_method_id: 'pm_x' }), 409, 'checkout_paid')
    expect(upstream.requests).toEqual([])
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 20 })
  })

  it('refuses a guest without a card, an account, and both ways at once', async () => {
    const { call, shop, seller, link } = await prepared(start)
    expectProblem(await complete(call, link, await guest(call)), 401, 'sign_in_required')
    expectProblem(await complete(call, link, {}), 401, 'sign_in_required')
    expectProblem(await complete(call, link, seller), 403, 'wrong_principal')
    const both = { hostname: shop.payer.hostname, payment_method_id: 'pm_card_visa' }
    expectProblem(await complete(call, link, shop.payer, both), 400, 'field_invalid')
    expect(await statusOf(call, link)).toBe('unpaid')
  })

  it('charges nothing if the balance is too low, and leaves the link unpaid', async () => {
    const { call, shop, seller, link } = await prepared(start)
    const poor = await newPayer(call, seller, { balance: 1.999 })
    upstream.requests.length = 0
    expectProblem(await complete(call, link, poor), 402, 'insufficient_funds')
    expect([await statusOf(call, link), upstream.requests]).toEqual(['unpaid', []])
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
  })

  it('charges nothing while the price differs from the link', async () => {
    const { call, shop, link } = await prepared(start)
    for (const price of [1, 2.001]) {
      await changeItem(call, shop, { price })
      const refused = await complete(call, link, shop.payer)
      expectProblem(refused, 409, 'price_changed')
      expect(refused.body.error).toContain('this link is for 2.00 USD')
      expect(await statusOf(call, link)).toBe('unpaid')
    }
    await changeItem(call, shop, { price: 2 })
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
  })

  it('charges nothing for an item that is no longer for sale like this', async () => {
    const { call, shop, link } = await prepared(start)
    await changeItem(call, shop, { active: false })
    expectProblem(await complete(call, link, shop.payer), 409, 'item_inactive')
    const narrow = { type: 'object', properties: { topic: { const: 'fish' } }, required: ['topic'] }
    await changeItem(call, shop, { active: true, service_schema: narrow })
    expectProblem(await complete(call, link, shop.payer), 422, 'arguments_refused')
    expect(await settled(call, shop)).toMatchObject({ seller: 0, payer: 10 })
  })

  it.each(['status/503/x', 'reset', 'hang'])('stays unpaid if /%s does not deliver', async (path) => {
    const { call, shop, link } = await prepared(start, { path, options: { limits: { upstreamMs: 1000 } } })
    expectProblem(await complete(call, link, shop.payer), 502, 'upstream_failed')
    expect(await statusOf(call, link)).toBe('unpaid')
    expect(await settled(call, shop)).toMatchObject({ seller: 0, payer: 10 })
    await changeItem(call, shop, { external_endpoint: `${upstream.url}/ok` })
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
  })

  it('a free item gets a receipt and moves nothing', async () => {
    const { call, shop, link } = await prepared(start, { price: 0 })
    const paid = await complete(call, link, shop.payer)
    expect([paid.status, paid.body.receipt.amount]).toEqual([200, 0])
    expect((await complete(call, link, shop.payer)).body).toEqual(paid.body)
    expect(await settled(call, shop)).toMatchObject({ seller: 0, payer: 10 })
  })

  it('sends an event to its creator and to the payer', async () => {
    const { call, shop, seller, link } = await prepared(start)
    await complete(call, link, shop.payer)
    const told = async (token: string) =>
      (await call('GET', '/v4/events?limit=100', { token })).body.events.filter(
        ({ subject }: { subject: string | null }) => subject === `checkout:${link.id}`,
      )
    expect(typesOf(await told(seller.token))).toEqual(['checkout.paid', 'checkout.created'])
    const [event] = await told(shop.payer.token)
    expect(event).toMatchObject({ type: 'checkout.paid', actor: `user:${shop.payer.id}`, data: { amount: 2 } })
    expect(JSON.stringify(event)).not.toContain(link.token)
  })
})
