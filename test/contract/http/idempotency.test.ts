import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared } from '../../support/contract/prepared.js'
import { approvedChange, newBusiness } from '../../support/scenes/account-changes.js'
import {
  expectProblem,
  expectSoundLedger,
  fund,
  setClock,
  stopClock,
  UNKNOWN_COMMODITY,
} from '../../support/scenes/market.js'
import { startUpstream } from '../../support/scenes/upstream.js'
import {
  balanceOf,
  defaultDq,
  newCommodity,
  newPayer,
  newReader,
  newSeller,
  newSession,
  newTwin,
  type Payer,
} from '../../support/scenes/world.js'
import { startFailing } from '../../support/storage/failing-storage.js'

const DAY = 86_400_000

const pay = (call: Call, hash: string, key: string, options: CallOptions, version = 'v4'): Promise<Answer> =>
  call('POST', `/${version}/payment/${hash}`, { ...options, headers: { ...options.headers, 'idempotency-key': key } })

const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true'

/** A seller, a commodity for a quarter, and a payer who holds one. */
const makeShop = async (call: Call) => {
  const seller = await newSeller(call)
  const { hash, hostname } = await newCommodity(call, seller, { cost: 0.25 })
  const payer = await newPayer(call, seller, { balance: 1 })
  return { seller, hash, hostname, payer, asPayer: { token: payer.token } }
}

const shop = prepared(makeShop)

const withBalance = <S extends { call: Call; payer: Payer }>(made: S) => ({
  ...made,
  left: () => balanceOf(made.call, made.payer.token, made.payer.hostname),
})

const newShop = async (start: Start) => withBalance(await shop(start, undefined))
const shopOf = async (call: Call) => withBalance({ call, ...(await makeShop(call)) })

contract('a call with an Idempotency-Key', (start) => {
  it('replays the status and the body when it is repeated, and does nothing', async () => {
    const { call, hash, asPayer, left, seller } = await newShop(start)
    const first = await pay(call, hash, 'k', asPayer)
    const again = await pay(call, hash, 'k', asPayer)
    expect([first.status, again.status]).toEqual([202, 202])
    expect([isReplay(first), isReplay(again)]).toEqual([false, true])
    expect(again.text).toBe(first.text)
    expect(again.headers.get('content-type')).toBe('application/json')
    expect(again.headers.get('cache-control')).toBe('private, no-store')
    expect(await left()).toBe(0.75)
    expect((await expectSoundLedger(call)).movements).toBe(2)
    const { nonce, timestamp } = again.body
    const validate = () =>
      call('POST', `/v4/payment/${hash}/validate`, { token: seller.token, body: { nonce, timestamp } })
    expect((await validate()).status).toBe(200)
    expectProblem(await validate(), 400, 'nonce_used')
  })

  it('creates one commodity, however often it is repeated', async () => {
    const { call } = await start()
    const { token } = await newSeller(call)
    const body = { descriptor: 'X', dq: await defaultDq(call), cost: 1, twin_id: (await newTwin(call, token)).id }
    const headers = { 'idempotency-key': 'k' }
    const answers = []
    for (const path of ['/v4/commodity', '/v4/commodity/', '/v4/commodity'])
      answers.push(await call('POST', path, { token, headers, body }))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(answers.map(isReplay)).toEqual([false, true, true])
    expect(new Set(answers.map(({ body }) => body.hash)).size).toBe(1)
    expect((await call('GET', '/v4/commodities', { token })).body.commodities).toHaveLength(1)
  })

  it('compares bodies by their canonical JSON, so order and spelling do not matter', async () => {
    const { call } = await start()
    const { token } = await newSeller(call)
    const [dq, twin] = [await defaultDq(call), await newTwin(call, token)]
    const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' }
    const first = `{"descriptor":"X","dq":"${dq}","cost":1,"twin_id":${twin.id}}`
    const same = ` { "twin_id" : ${twin.id}.0, "cost":1e0, "dq":"${dq}", "descriptor":"\\u0058" } `
    await call('POST', '/v4/commodity', { token, headers, raw: first })
    expect(isReplay(await call('POST', '/v4/commodity', { token, headers, raw: same }))).toBe(true)
  })

  it('and a different body is 422 idempotency_mismatch, and does nothing', async () => {
    const { call, state, hash, asPayer, payer, seller } = await newShop(start)
    await pay(call, hash, 'k', asPayer)
    const before = (await state()).rows
    for (const body of [{ hostname: payer.hostname }, { x: 1 }, { hostname: 'another' }])
      expectProblem(await pay(call, hash, 'k', { ...asPayer, body }), 422, 'idempotency_mismatch')
    expect((await state()).rows).toEqual(before)

    const order = {
      descriptor: 'X',
      dq: await defaultDq(call),
      cost: 1,
      twin_id: (await newTwin(call, seller.token)).id,
    }
    const headers = { 'idempotency-key': 'k' }
    await call('POST', '/v4/commodity', { token: seller.token, headers, body: order })
    const dearer = { ...order, cost: 2 }
    const mismatch = await call('POST', '/v4/commodity', { token: seller.token, headers, body: dearer })
    expectProblem(mismatch, 422, 'idempotency_mismatch')
  })

  it('is independent of the same key of another principal', async () => {
    const { call, seller, hash, asPayer } = await newShop(start)
    const other = await newPayer(call, seller, { balance: 1 })
    const answers = [await pay(call, hash, 'k', asPayer), await pay(call, hash, 'k', { token: other.token })]
    expect(answers.map(isReplay)).toEqual([false, false])
    expect(answers[0]?.body.nonce).not.toBe(answers[1]?.body.nonce)
    expect(await balanceOf(call, other.token, other.hostname)).toBe(0.75)
  })

  it('is independent of the same key on another path', async () => {
    const { call, seller, hash, asPayer, left } = await newShop(start)
    const other = await newCommodity(call, seller, { cost: 0.25 })
    const answers = [
      await pay(call, hash, 'k', asPayer),
      await pay(call, other.hash, 'k', asPayer),
      await pay(call, hash, 'k', asPayer, 'v2'),
    ]
    expect(answers.map(isReplay)).toEqual([false, false, false])
    expect(await left()).toBe(0.25)
  })

  it('compares paths by their decoded form', async () => {
    const { call, hash, asPayer, left } = await newShop(start)
    await pay(call, hash, 'k', asPayer)
    const escaped = hash.replaceAll('-', '%2D')
    for (const spelled of [`${hash}/`, escaped, `${escaped}//`, `${hash}?x=1`])
      expect(isReplay(await pay(call, spelled, 'k', asPayer)), spelled).toBe(true)
    expect(await left()).toBe(0.75)
  })

  it('belongs to the user, with a token or with a session', async () => {
    const { call, hash, payer, asPayer, left } = await newShop(start)
    const session = await newSession(call, payer.email)
    const first = await pay(call, hash, 'k', asPayer)
    const again = await pay(call, hash, 'k', { session })
    expect([isReplay(again), again.body.nonce]).toEqual([true, first.body.nonce])
    expect(again.headers.get('x-session-id')).toBe(session)
    expect(await left()).toBe(0.75)
  })

  it('is stored for 24 hours', async () => {
    const { call, hash, payer } = await newShop(start)
    const at = await stopClock(call)
    const session = await newSession(call, payer.email)
    const first = await pay(call, hash, 'k', { session })
    await setClock(call, at + DAY - 1000)
    expect((await pay(call, hash, 'k', { session })).text).toBe(first.text)
    await setClock(call, at + DAY)
    const asNew = { session: await newSession(call, payer.email) }
    const second = await pay(call, hash, 'k', asNew)
    expect([second.status, isReplay(second)]).toEqual([202, false])
    const [twin] = (await call('GET', '/v4/twins', asNew)).body.twins
    expect(Object.values(twin.balances)).toEqual([0.5])
    expect(isReplay(await pay(call, hash, 'k', asNew))).toBe(true)
  })

  it('takes every key of printable ASCII characters', { tags: ['everywhere', 'pages'] }, async () => {
    const { call, hash, asPayer, payer, left } = await newShop(start)
    const keys = ['k', '~', '!', 'two words', 'a, b', '"quoted"', 'k'.repeat(255)]
    await fund(call, payer.hostname, keys.length)
    for (const [paid, key] of keys.entries()) {
      const first = await pay(call, hash, key, asPayer)
      expect([first.status, isReplay(first)], key).toEqual([202, false])
      expect(isReplay(await pay(call, hash, key, asPayer)), key).toBe(true)
      expect(await left()).toBe(1 + keys.length - 0.25 * (paid + 1))
    }
  })

  it('ignores the key if the operation changes nothing that a retry could double', async () => {
    const { call } = await start()
    const headers = { 'idempotency-key': 'k' }
    const made = [await call('POST', '/v4/account', { headers }), await call('POST', '/v4/account', { headers })]
    expect(made.map(isReplay)).toEqual([false, false])
    expect(made[0]?.body.id).not.toBe(made[1]?.body.id)
  })

  it('is stored encrypted: the storage has neither answer nor key in plain text', async () => {
    const { call, state, hash, asPayer } = await newShop(start)
    const { body } = await pay(call, hash, 'the-key-itself', asPayer)
    const { idempotency } = (await state()).rows
    expect(idempotency).toHaveLength(1)
    const resting = JSON.stringify(await state())
    for (const secret of [body.nonce, 'the-key-itself']) expect(resting).not.toContain(secret)
    for (const clear of [hash, body.payee_hostname, 'nonce']) expect(JSON.stringify(idempotency)).not.toContain(clear)
  })

  it('is removed after its day is over', async () => {
    const { call, state, hash, payer } = await newShop(start)
    const at = await stopClock(call)
    const pays = async (key: string) => pay(call, hash, key, { session: await newSession(call, payer.email) })
    for (const key of ['a', 'b', 'c']) await pays(key)
    await setClock(call, at + DAY + DAY / 12)
    await pays('d')
    expect((await state()).rows.idempotency).toHaveLength(1)
  })
})

contract('a refusal under an Idempotency-Key', (start) => {
  it('with 402 is not stored: the same key pays after a top-up', async () => {
    const { call, seller, hash } = await newShop(start)
    const poor = await newPayer(call, seller)
    const first = await pay(call, hash, 'k', { token: poor.token })
    expectProblem(first, 402, 'insufficient_funds')
    await fund(call, poor.hostname, 1)
    const again = await pay(call, hash, 'k', { token: poor.token })
    expect([again.status, isReplay(first), isReplay(again)]).toEqual([202, false, false])
    expect(isReplay(await pay(call, hash, 'k', { token: poor.token }))).toBe(true)
    expect((await call('GET', '/v4/payments', { token: poor.token })).body.payments).toHaveLength(1)
    await expectSoundLedger(call)
  })

  it('with 404 or 403 is not stored, and a different body is no mismatch', async () => {
    const { call, state, hash, asPayer, payer, seller, left } = await newShop(start)
    const others = (await newPayer(call, seller, { balance: 1 })).hostname
    for (let i = 0; i < 2; i++) {
      const unknown = await pay(call, UNKNOWN_COMMODITY, 'k', asPayer)
      expectProblem(unknown, 404, 'not_found')
      const forbidden = await pay(call, hash, 'k', { ...asPayer, body: { hostname: others } })
      expectProblem(forbidden, 403, 'not_owner')
      expect([isReplay(unknown), isReplay(forbidden)]).toEqual([false, false])
    }
    expect((await state()).rows.idempotency).toBeUndefined()
    const own = await pay(call, hash, 'k', { ...asPayer, body: { hostname: payer.hostname } })
    expect([own.status, await left()]).toEqual([202, 0.75])
  })

  it('with 400 is not stored: the key is free for the corrected call', async () => {
    const { call } = await start()
    const { token } = await newSeller(call)
    const order = { descriptor: 'X', dq: await defaultDq(call), cost: 1, twin_id: (await newTwin(call, token)).id }
    const headers = { 'idempotency-key': 'k' }
    for (const [wrong, code] of [
      [{ cost: -1 }, 'amount_invalid'],
      [{ cost: '1' }, 'field_invalid'],
      [{ twin_id: 999_999 }, 'twin_unknown'],
      [{ dq: 'none' }, 'dq_unknown'],
    ] as const)
      expectProblem(await call('POST', '/v4/commodity', { token, headers, body: { ...order, ...wrong } }), 400, code)
    const made = await call('POST', '/v4/commodity', { token, headers, body: order })
    expect([made.status, isReplay(made)]).toEqual([201, false])
  })

  it('of an unknown caller is not stored', async () => {
    const { call, hash, asPayer } = await newShop(start)
    expectProblem(await pay(call, hash, 'k', { token: 'x' }), 401, 'token_invalid')
    expectProblem(await pay(call, hash, 'k', {}), 401, 'authorization_missing')
    expect(isReplay(await pay(call, hash, 'k', asPayer))).toBe(false)
  })
})

contract('calls with one Idempotency-Key at once', (start) => {
  it('have one effect and one answer', async () => {
    const { call, hash, asPayer, left } = await newShop(start)
    const answers = await Promise.all(Array.from({ length: 8 }, () => pay(call, hash, 'k', asPayer)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(isReplay)).toHaveLength(7)
    expect(await left()).toBe(0.75)
    expect((await expectSoundLedger(call)).movements).toBe(2)
  })

  it('and different bodies have the effect of one of them', async () => {
    const { call, hash, asPayer, left } = await newShop(start)
    const bodies = [0, 1, 2, 3].map((x) => ({ x }))
    const answers = await Promise.all(bodies.map((body) => pay(call, hash, 'k', { ...asPayer, body })))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 422, 422, 422])
    expect(await left()).toBe(0.75)
  })
})

describe('an Idempotency-Key during failures', () => {
  it('is free after a 500, which undid the call', async () => {
    const { storage, logged, ...running } = startFailing()
    const call = caller(running)
    const { hash, asPayer, left } = await shopOf(call)
    storage.failing = 'writes'
    expectProblem(await pay(call, hash, 'k', asPayer), 500, 'internal_error')
    expect(logged).toHaveLength(1)
    storage.failing = 'nothing'
    expect(await left()).toBe(1)
    const made = await pay(call, hash, 'k', asPayer)
    expect([made.status, isReplay(made)]).toEqual([202, false])
    expect(await left()).toBe(0.75)
  })

  it('whose answer was encrypted with a different key is 409, and never has a second effect', async () => {
    const upstream = await startUpstream()
    const storage = memoryStorage()
    const url = 'http://127.0.0.1:4242'
    const [one, other] = ['11', '22'].map((byte) => {
      const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
      return caller({ url, fetch: service.fetch })
    }) as [Call, Call]
    const { hash, hostname: shop, asPayer, left, seller } = await shopOf(one)
    await pay(one, hash, 'k', asPayer)
    const refused = await pay(other, hash, 'k', asPayer)
    expectProblem(refused, 409, 'idempotency_unreadable')
    expectProblem(await pay(other, hash, 'k', { ...asPayer, body: { x: 1 } }), 422, 'idempotency_mismatch')
    expect(await left()).toBe(0.75)
    expect(isReplay(await pay(one, hash, 'k', asPayer))).toBe(true)

    const order = { descriptor: 'X', dq: await defaultDq(one), cost: 1, twin_id: (await newTwin(one, seller.token)).id }
    const keyed = { token: seller.token, headers: { 'idempotency-key': 'k' }, body: order }
    expect((await one('POST', '/v4/commodity', keyed)).status).toBe(201)
    expectProblem(await other('POST', '/v4/commodity', keyed), 409, 'idempotency_unreadable')

    const payer = await newReader(one, seller, { balance: 5 })
    const gift = { ...order, cost: 0, payback: true }
    const { hash: payback } = (await one('POST', '/v4/commodity', { token: seller.token, body: gift })).body
    const service = {
      service_method: 'POST',
      external_endpoint: `${upstream.url}/ok`,
      service_schema: { type: 'object' },
    }
    const sold = { name: 'A story', description: '', price: 0.25, ...service }
    const { id } = (await one('POST', '/v4/catalog/items', { token: seller.token, body: sold })).body
    const business = await newBusiness(one)
    const approval_id = await approvedChange(one, business, { kind: 'update_account', name: 'Weather' })
    for (const [path, body, { token }] of [
      [`/v4/payback/${payback}`, { consent: ['You may write to me.'] }, payer],
      ['/v4/paywall', { amount: 0.5, destination: shop }, payer],
      [`/v4/twin/${payer.hostname}/topup`, { amount: 5, payment_method_id: 'pm_card_visa' }, payer],
      ['/v4/user/secrets', {}, payer],
      ['/v4/catalog/items', sold, seller],
      [`/v4/catalog/items/${id}/purchases`, {}, payer],
      ['/v4/agent/account-changes', { approval_id }, business.agent],
    ] as const) {
      const sent = { token, headers: { 'idempotency-key': 'k' }, body }
      expect((await one('POST', path, sent)).status).toBeLessThan(300)
      expectProblem(await other('POST', path, sent), 409, 'idempotency_unreadable')
      expectProblem(await other('POST', path, { ...sent, body: { ...body, x: 1 } }), 422, 'idempotency_mismatch')
    }
    await upstream.close()
  })
})
