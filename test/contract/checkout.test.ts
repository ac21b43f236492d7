import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { type Call, type CallOptions, caller } from '../support/api.js'
import {
  changeItem,
  complete,
  type Gate,
  guest,
  type Link,
  makeCheckout,
  newCheckout,
  newItem,
  newShop,
  readCheckout,
  type Shop,
  settled,
  startGate,
  statusOf,
} from '../support/checkout.js'
import { contract, type Start } from '../support/contract.js'
import { expectProblem, setClock, stopClock } from '../support/market.js'
import { newAgent } from '../support/oidc.js'
import { again, DAY, typesOf } from '../support/transfers.js'
import { startUpstream, type TestUpstream } from '../support/upstream.js'
import { newPayer, newSession, newTwin } from '../support/world.js'

let upstream: TestUpstream
let gate: Gate
beforeAll(async () => {
  upstream = await startUpstream()
  gate = await startGate()
})
beforeEach(() => gate.shut())
afterAll(async () => {
  await upstream.close()
  await gate.close()
})

/** A shop whose goods are delivered by a path of the upstream service, and a link to one. */
async function prepared(
  start: Start,
  { path = 'ok', price = 2, options = {} as Parameters<Start>[0], body = {} } = {},
) {
  const running = await start(options)
  const { call } = running
  const shop = await newShop(call, `${upstream.url}/${path}`, { price })
  return { ...running, ...shop, shop, link: await newCheckout(call, shop, body) }
}

/** The same, on a clock that stands still. */
async function preparedAt(start: Start) {
  const running = await start({ limits: { upstreamMs: 1500 } })
  const at = await stopClock(running.call)
  const shop = await newShop(running.call, `${upstream.url}/ok`)
  return { ...running, ...shop, shop, at, link: await newCheckout(running.call, shop) }
}

contract('createCheckout', (start) => {
  it('POST /v4/checkout makes a link that lives 24 hours', async () => {
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

  it('an account, a user, an app, a session and a guest make them, each by another secret', async () => {
    const { call } = await start()
    const shop = await newShop(call, `${upstream.url}/ok`)
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

  it('keeps the secret of a link nowhere', async () => {
    const { call, link, state } = await prepared(start)
    expect((await readCheckout(call, link)).status).toBe(200)
    expect(JSON.stringify(await state())).not.toContain(link.token)
  })

  it('refuses what is not sold, and arguments that it does not take', async () => {
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
  ])('refuses to lead to %s', async (title, address = title) => {
    const { call, shop } = await prepared(start)
    for (const field of ['success_url', 'cancel_url']) {
      const refused = await makeCheckout(call, shop, { [field]: address })
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe(field)
    }
  })

  it('makes one link for each Idempotency-Key', async () => {
    const { call, shop } = await prepared(start)
    const caller = { token: shop.seller.token, headers: { 'idempotency-key': 'once' } }
    const [one, two] = [await makeCheckout(call, shop, {}, caller), await makeCheckout(call, shop, {}, caller)]
    expect(two.body).toEqual(one.body)
    const other = await makeCheckout(call, shop, { email: 'ada@example.test' }, caller)
    expectProblem(other, 422, 'idempotency_mismatch')
  })
})

describe('a checkout in a service with another encryption key', () => {
  it('is made no second time for an Idempotency-Key, and its link goes on', async () => {
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
  it('GET /v4/checkout/{token} shows it to whoever has the link', async () => {
    const { call, shop, link } = await prepared(start)
    expect((await readCheckout(call, link)).body).toEqual((await readCheckout(call, link)).body)
    const { body } = await readCheckout(call, link)
    expect(body).toMatchObject({ ...link, status: 'unpaid' })
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    const paid = await readCheckout(call, link)
    expect(paid.body).toMatchObject({ status: 'paid', id: link.id })
    expect(paid.text).not.toContain('The whole story.')
  })

  it('is 404 for another secret', async () => {
    const { call, link } = await prepared(start)
    for (const token of [`${link.token}x`, link.token.slice(0, -1), String(link.id), 'x'])
      expectProblem(await readCheckout(call, { token }), 404, 'not_found')
  })

  it('is 410 once its time is over', async () => {
    const { call, at, link } = await preparedAt(start)
    await setClock(call, at + DAY - 1)
    expect((await readCheckout(call, link)).body.status).toBe('unpaid')
    await setClock(call, at + DAY)
    expectProblem(await readCheckout(call, link), 410, 'checkout_expired')
  })
})

contract('completeCheckout, from a wallet', (start) => {
  it('POST /v4/checkout/{token}/complete pays, has it delivered, and gives the receipt', async () => {
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

  it("pays from the wallet that is named, and from nobody else's", async () => {
    const { call, shop, link } = await prepared(start)
    const { hostname } = await newTwin(call, shop.payer.token)
    expectProblem(await complete(call, link, shop.payer, { hostname: shop.item.hostname }), 403, 'not_owner')
    expectProblem(await complete(call, link, shop.payer, { hostname: 'nobody.twin.localhost' }), 404, 'not_found')
    expectProblem(await complete(call, link, shop.payer, { hostname }), 402, 'insufficient_funds')
    await call('POST', '/_sandbox/fund', { body: { hostname, amount: 2 } })
    expect((await complete(call, link, shop.payer, { hostname })).status).toBe(200)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('a session pays, by itself', async () => {
    const { call, shop, link } = await prepared(start)
    const session = await newSession(call, shop.payer.email)
    expect((await complete(call, link, { session })).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ payer: 8 })
    // The same user, however they call.
    expect((await complete(call, link, shop.payer)).status).toBe(200)
  })

  it('a page of another site that a reader signed in at pays nothing', async () => {
    const { call, shop, link } = await prepared(start)
    const session = await newSession(call, shop.payer.email)
    const page = { hash: shop.item.commodity_hash, origin: 'https://shop.example.test' }
    const { session_id } = (await call('POST', '/v4/session/page', { session, body: page })).body
    const own = { session: session_id, headers: { origin: 'https://shop.example.test' } }
    expectProblem(await complete(call, link, own), 403, 'wrong_principal')
    expectProblem(await makeCheckout(call, shop, {}, own), 403, 'wrong_principal')
  })

  it('gives the same payer the same receipt again, and anybody else none', async () => {
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

  it('charges nothing for a wallet that is short, and the link can be paid after', async () => {
    const { call, shop, seller, link } = await prepared(start)
    const poor = await newPayer(call, seller, { balance: 1.999 })
    upstream.requests.length = 0
    expectProblem(await complete(call, link, poor), 402, 'insufficient_funds')
    expect([await statusOf(call, link), upstream.requests]).toEqual(['unpaid', []])
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
  })

  it('charges nothing for another price than the link is for, until it is that again', async () => {
    const { call, shop, link } = await prepared(start)
    for (const price of [1, 2.001]) {
      await changeItem(call, shop, { price })
      const refused = await complete(call, link, shop.payer)
      expectProblem(refused, 409, 'price_changed')
      expect(refused.body.error).toContain('this link is for 2.000 USD')
      expect(await statusOf(call, link)).toBe('unpaid')
    }
    await changeItem(call, shop, { price: 2 })
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
  })

  it('charges nothing for what is no longer sold so', async () => {
    const { call, shop, link } = await prepared(start)
    await changeItem(call, shop, { active: false })
    expectProblem(await complete(call, link, shop.payer), 409, 'item_inactive')
    const narrow = { type: 'object', properties: { topic: { const: 'fish' } }, required: ['topic'] }
    await changeItem(call, shop, { active: true, service_schema: narrow })
    expectProblem(await complete(call, link, shop.payer), 422, 'arguments_refused')
    expect(await settled(call, shop)).toMatchObject({ seller: 0, payer: 10 })
  })

  it.each(['status/503/x', 'reset', 'hang'])('is unpaid again where /%s does not deliver', async (path) => {
    const { call, shop, link } = await prepared(start, { path, options: { limits: { upstreamMs: 1000 } } })
    expectProblem(await complete(call, link, shop.payer), 502, 'upstream_failed')
    expect(await statusOf(call, link)).toBe('unpaid')
    expect(await settled(call, shop)).toMatchObject({ seller: 0, payer: 10 })
    await changeItem(call, shop, { external_endpoint: `${upstream.url}/ok` })
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
  })

  it('what is free makes a receipt and moves nothing', async () => {
    const { call, shop, link } = await prepared(start, { price: 0 })
    const paid = await complete(call, link, shop.payer)
    expect([paid.status, paid.body.receipt.amount]).toEqual([200, 0])
    expect((await complete(call, link, shop.payer)).body).toEqual(paid.body)
    expect(await settled(call, shop)).toMatchObject({ seller: 0, payer: 10 })
  })

  it('tells whoever made it, and who paid', async () => {
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

type Made = Awaited<ReturnType<typeof preparedAt>>

/** Brings a link into a state. */
const states: Readonly<Record<string, (made: Made) => Promise<void>>> = {
  unpaid: async () => {},
  paying: async ({ call, shop, link }) => {
    await changeItem(call, shop, { external_endpoint: gate.url })
    void complete(call, link, shop.payer)
    await expect.poll(() => statusOf(call, link), { interval: 20 }).toBe('paying')
  },
  paid: async ({ call, shop, link }) => {
    expect((await complete(call, link, shop.payer)).status).toBe(200)
  },
  expired: async ({ call, at }) => {
    await setClock(call, at + DAY)
  },
}

contract('The state of a checkout', (start) => {
  /** By state: how reading it, paying it as who paid or would, and as another, ends. */
  const table: readonly [keyof typeof states, read: number, own: number, other: number][] = [
    ['unpaid', 200, 200, 200],
    ['paying', 200, 200, 409],
    ['paid', 200, 200, 409],
    ['expired', 410, 410, 410],
  ]

  it.each(table)('%s: reading is %i, paying %i for who pays, %i for another', async (state, read, own, other) => {
    for (const who of ['own', 'other'] as const) {
      const made = await preparedAt(start)
      const { call, link, seller } = made
      const stranger = await newPayer(call, seller, { balance: 10 })
      await (states[state] as (made: Made) => Promise<void>)(made)
      expect((await readCheckout(call, link)).status).toBe(read)
      const caller = await again(call, who === 'own' ? made.payer : stranger)
      const answering = complete(call, link, caller)
      gate.open()
      expect((await answering).status).toBe(who === 'own' ? own : other)
      gate.shut()
    }
  })

  it('stays paid when its time is over', async () => {
    const { call, at, link, shop } = await preparedAt(start)
    const paid = await complete(call, link, shop.payer)
    await setClock(call, at + 2 * DAY)
    expect(await statusOf(call, link)).toBe('paid')
    expect((await complete(call, link, await again(call, shop.payer))).body).toEqual(paid.body)
  })

  it('expires once a try that outlasts its time has failed, and is paid where that pays', async () => {
    for (const [paid, status] of [
      [200, 200],
      [502, 410],
    ]) {
      const { call, at, link, shop } = await preparedAt(start)
      await changeItem(call, shop, { external_endpoint: gate.url })
      await setClock(call, at + DAY - 1000)
      const trying = complete(call, link, await again(call, shop.payer))
      await expect.poll(() => gate.waiting(), { interval: 20 }).toBe(1)
      expect(await statusOf(call, link)).toBe('paying')
      await setClock(call, at + DAY)
      // Else the time that it may take runs out.
      if (paid === 200) gate.open()
      expect((await trying).status).toBe(paid)
      expect((await readCheckout(call, link)).status).toBe(status)
      gate.shut()
    }
  })
})

contract('At the same moment', (start) => {
  const all = (call: Call, link: Link, callers: readonly CallOptions[]) =>
    Promise.all(callers.map((caller) => complete(call, link, caller)))

  it('50 completions by the same payer charge once, and give 50 equal receipts', async () => {
    const { call, shop, link } = await prepared(start, { path: 'slow' })
    upstream.requests.length = 0
    const answers = await all(
      call,
      link,
      Array.from({ length: 50 }, () => shop.payer),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
  })

  it('10 different payers: one pays, the rest are told that it is paid', async () => {
    const { call, shop, seller, link } = await prepared(start, { path: 'slow' })
    const payers = await Promise.all(Array.from({ length: 10 }, () => newPayer(call, seller, { balance: 5 })))
    upstream.requests.length = 0
    const answers = await all(call, link, payers)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(9)
    for (const each of refused) expectProblem(each, 409, 'checkout_paid')
    expect(upstream.requests).toHaveLength(1)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 60 })
  })

  it('10 payers of what is not delivered are all refused, one after the other, and nobody is charged', async () => {
    const { call, shop, seller, link } = await prepared(start, { path: 'status/500/x' })
    const payers = await Promise.all(Array.from({ length: 10 }, () => newPayer(call, seller, { balance: 5 })))
    for (const answer of await all(call, link, payers)) expectProblem(answer, 502, 'upstream_failed')
    expect(await settled(call, shop)).toEqual({ seller: 0, payer: 10, issued: 60 })
    expect(await statusOf(call, link)).toBe('unpaid')
  })

  it('several links for one thing are paid each by itself', async () => {
    const { call, shop, seller } = await prepared(start)
    const item = await newItem(call, seller, `${upstream.url}/ok`, { price: 1 })
    const links = await Promise.all(Array.from({ length: 10 }, () => newCheckout(call, { seller, item })))
    const answers = await Promise.all(links.map((link) => complete(call, link, shop.payer)))
    expect(answers.map(({ status }) => status)).toEqual(links.map(() => 200))
    expect(await settled(call, { ...shop, item } as Shop)).toMatchObject({ seller: 10, payer: 0 })
  })
})
