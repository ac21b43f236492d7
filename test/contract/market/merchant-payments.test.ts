import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared as preparedWith, startWith } from '../../support/contract/prepared.js'
import { newItem } from '../../support/scenes/catalog.js'
import { advance, expectProblem, expectSoundLedger, setClock, stopClock } from '../../support/scenes/market.js'
import {
  askedAuthorization,
  newMarket,
  newPage,
  ORIGIN,
  setPhone,
  settledBalances,
} from '../../support/scenes/paywall.js'
import { registerDevice } from '../../support/scenes/second-factor.js'
import { balanceOf, defaultDq, newPayer, newSeller, newTwin, type Payer } from '../../support/scenes/world.js'

const PATH = '/v3/paywall/authorizations'

/** A payer with 10, whose phone answers so, and their session. */
const signedIn = preparedWith(async (call, phone: string) => {
  const at = await stopClock(call)
  const market = await newMarket(call)
  const { payer, shop } = market
  const session = await sessionOf(call, payer)
  await registerDevice(call, payer)
  await setPhone(call, payer, phone)
  return { at, market, payer, shop, session, dq: await defaultDq(call) }
})

async function prepared(start: Start, phone = 'approve') {
  const running = await signedIn(start, phone)
  const { call, payer, shop, session, dq } = running
  const order = { paymentTypeHash: dq, amount: 2, destinationUrl: shop }
  const pay = (more: object = {}, caller: CallOptions = { session }) => payMerchant(call, caller, { ...order, ...more })
  /** How often the payer was asked. */
  const asked = async () => (await authorizations(call, payer)).length
  return { ...running, order, pay, asked }
}

const sessionOf = async (call: Call, { token }: Payer): Promise<string> =>
  (await call('POST', '/v3/session', { token })).body.session_id

const payMerchant = (call: Call, caller: CallOptions, body: object): Promise<Answer> =>
  call('POST', '/v3/paywall', { ...caller, body })

const authorizations = async (call: Call, { token }: Payer) => (await call('GET', PATH, { token })).body.authorizations

const revoke = (call: Call, { token }: Payer, authorizationId: number) =>
  call('DELETE', PATH, { token, body: { authorizationId } })

contract('createMerchantPayment', (start) => {
  it('POST /v3/paywall waits for the approval, pays the twin, and answers as existing clients expect', {
    tags: 'everywhere',
  }, async () => {
    const { call, market, payer, shop, dq, pay } = await prepared(start)
    await call('PUT', '/v4/account', { token: market.seller.token, body: { businessName: 'The Daily' } })
    const { status, body } = await pay({ merchantName: 'Your bank" https://evil.example.test' })
    expect([status, body]).toEqual([
      200,
      {
        status: 'success',
        transaction_id: expect.any(Number),
        amount: 2,
        merchant: 'The Daily',
        timestamp: expect.any(Number),
      },
    ])
    const payment = (await call('GET', `/v4/payments/${body.transaction_id}`, { token: payer.token })).body
    expect(payment).toMatchObject({ kind: 'paywall', status: 'posted', amount: 2, created_at: body.timestamp })
    expect(await settledBalances(call, market)).toEqual([8, 2])
    const [shown] = await authorizations(call, payer)
    expect(shown).toMatchObject({
      merchant_url: shop,
      merchant_name: 'The Daily',
      payment_type_hash: dq,
      status: 'approved',
      metadata: { amount: 2, requestedAt: expect.any(Number), payee: shop },
    })
    // The caller's words are quoted, and no link.
    expect(shown.metadata.the_caller_says).toBe("“Your bank' (link removed)”")
    expect(shown.metadata.later_payments).toContain('2.00 USD')
  })

  it('finds the payee by hostname, address, URL of the twin, or endpoint of an item, else 404', async () => {
    const { call, market, payer, shop, pay, dq } = await prepared(start)
    const endpoint = 'https://api.example.test/weather?units=metric'
    const { hostname } = await newItem(call, market.seller, { external_endpoint: endpoint })
    const binder = await call('GET', `/v4/twin/${payer.hostname}/binder`, { token: payer.token })
    expect(binder.text).toContain(dq)
    for (const destinationUrl of [shop, `https://${shop}/news`, ` ${shop.toUpperCase()} `])
      expect((await pay({ destinationUrl })).status).toBe(200)
    expect((await pay({ destinationUrl: endpoint })).status).toBe(200)
    expect(await balanceOf(call, market.seller.token, hostname)).toBe(2)
    const [{ issuer }] = (
      await call('GET', `/v4/twin/${shop}/inventory`, {
        token: market.seller.token,
        headers: { accept: 'application/json' },
      })
    ).body
    for (const destinationUrl of [
      '',
      'ada@example.test',
      issuer,
      `x${shop}`,
      'https://api.example.test/weather',
      'https://api.example.test/weather?units=metric#x',
      'javascript:alert(1)',
      'The Daily',
    ])
      expectProblem(await pay({ destinationUrl }), 404, 'not_found')
    await expectSoundLedger(call)
  })

  it('answers 408 alike for a denial and for no answer, and moves nothing', { tags: 'everywhere' }, async () => {
    const { call, market, payer, pay } = await prepared(start, 'reject')
    const denied = await pay()
    expectProblem(denied, 408, 'payment_denied')
    expect(denied.body).toMatchObject({ error: expect.any(String), status: 408 })
    await setPhone(call, payer, 'ignore')
    const waiting = pay({ amount: 3 })
    await expect.poll(async () => (await authorizations(call, payer)).length).toBe(2)
    await advance(call, '30s')
    expectProblem(await waiting, 408, 'approval_timeout')
    expect(await settledBalances(call, market)).toEqual([10, 0])
    expect((await authorizations(call, payer)).map(({ status }: { status: string }) => status)).toEqual([
      'expired',
      'denied',
    ])
  })

  it('does not ask again when a browser repeats a denied call by itself', async () => {
    const { pay, asked } = await prepared(start, 'reject')
    expectProblem(await pay(), 408, 'payment_denied')
    expectProblem(await pay(), 408, 'approval_timeout')
    expect(await asked()).toBe(1)
    // Only once: the next call is the user's own.
    expectProblem(await pay(), 408, 'payment_denied')
    expect(await asked()).toBe(2)
  })

  it('refuses impossible payments before it asks anybody', async () => {
    const { call, payer, pay, asked } = await prepared(start)
    expectProblem(await pay({ paymentTypeHash: `41${'0'.repeat(64)}` }), 400, 'dq_unknown')
    for (const amount of [0, -1, 0.0001]) expectProblem(await pay({ amount }), 400, 'amount_invalid')
    expectProblem(await pay({ amount: 11 }), 402, 'insufficient_funds')
    expectProblem(await pay({ destinationUrl: payer.hostname }), 422, 'same_twin')
    for (const field of ['paymentTypeHash', 'amount', 'destinationUrl'])
      expect((await pay({ [field]: undefined })).body).toMatchObject({ status: 400, field })
    expect(await asked()).toBe(0)
    expectProblem(await call('POST', '/v3/paywall', { body: {} }), 401, 'authorization_missing')
    expectProblem(await pay({}, { session: `ms_${'0'.repeat(32)}` }), 401, 'sign_in_required')
    expectProblem(await pay({}, { token: payer.token }), 403, 'wrong_principal')
  })

  it('limits how many wait, and how often one is asked', async () => {
    const { call, pay, payer } = await prepared(start, 'ignore')
    const waiting = [1, 2, 3, 4, 5].map((amount) => pay({ amount }))
    await expect.poll(async () => (await authorizations(call, payer)).length).toBe(5)
    expectProblem(await pay({ amount: 6 }), 429, 'too_many_pending')
    await advance(call, '30s')
    for (const answer of await Promise.all(waiting)) expectProblem(answer, 408, 'approval_timeout')
    expectProblem(await pay({ amount: 6 }), 429, 'too_many_mails')
  })

  it('takes the cookie of a caller that is no browser, and of a page only from its own origin', {
    tags: 'everywhere',
  }, async () => {
    const { url, fetch, session, order } = await prepared(start)
    const send = async (headers: Record<string, string>) => {
      const body = JSON.stringify(order)
      const sent = { 'content-type': 'application/json', cookie: `session_id=${session}`, ...headers }
      const response = await fetch(new Request(`${url}/v3/paywall`, { method: 'POST', headers: sent, body }))
      return [response.status, (await response.json()).code]
    }
    expect(await send({})).toEqual([200, undefined])
    expect(await send({ origin: new URL(url).origin })).toEqual([200, undefined])
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { origin: ORIGIN },
      { origin: 'null' },
    ] as Record<string, string>[])
      expect((await send(headers))[0]).toBe(403)
  })

  it('keeps the cookie of a caller that is no browser out of other operations', { tags: 'everywhere' }, async () => {
    const { url, fetch, session } = await prepared(start)
    for (const [path, body] of [
      ['/v4/paywall', { amount: 1 }],
      ['/v4/transfer', { address: 'a@example.test', amount: 1 }],
    ] as const) {
      const headers = { 'content-type': 'application/json', cookie: `session_id=${session}` }
      const response = await fetch(new Request(url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
      expect([response.status, (await response.json()).code]).toEqual([403, 'cross_site'])
    }
  })

  it('pays once for an Idempotency-Key, also when the approval stands', async () => {
    const { call, market, pay, session, asked } = await prepared(start)
    const keyed = (key: string) => ({ session, headers: { 'idempotency-key': key } })
    for (const key of ['asks', 'stands']) {
      const [first, again] = [await pay({}, keyed(key)), await pay({}, keyed(key))]
      expect([first.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
      expect(again.text).toBe(first.text)
      expectProblem(await pay({ amount: 1 }, keyed(key)), 422, 'idempotency_mismatch')
    }
    expect(await settledBalances(call, market)).toEqual([6, 4])
    expect(await asked()).toBe(1)
  })

  it('is 409 while the same call waits under the same key', async () => {
    const { call, payer, pay, session } = await prepared(start, 'ignore')
    const keyed = { session, headers: { 'idempotency-key': 'once' } }
    const first = pay({}, keyed)
    await askedAuthorization(call, payer)
    expectProblem(await pay({}, keyed), 409, 'idempotency_in_progress')
    await advance(call, '30s')
    expect((await first).status).toBe(408)
  })

  it('stores no denial, so that the same key may ask again', async () => {
    const { call, payer, pay, session } = await prepared(start, 'reject')
    const keyed = { session, headers: { 'idempotency-key': 'once' } }
    expectProblem(await pay({}, keyed), 408, 'payment_denied')
    await setPhone(call, payer, 'approve')
    expect((await pay({ amount: 2 }, keyed)).status).toBe(408)
    expect((await pay({}, keyed)).status).toBe(200)
  })
})

describe('createMerchantPayment under an Idempotency-Key', () => {
  it('is 409 if its answer was encrypted with a different key, and does not happen again', async () => {
    const storage = memoryStorage()
    const [one, other] = ['11', '22'].map((byte) => {
      const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
      return caller({ url: service.baseUrl, fetch: service.fetch })
    }) as [Call, Call]
    const market = await newMarket(one)
    const session = await sessionOf(one, market.payer)
    await registerDevice(one, market.payer)
    await setPhone(one, market.payer, 'approve')
    const order = { paymentTypeHash: await defaultDq(one), amount: 2, destinationUrl: market.shop }
    const keyed = { session, headers: { 'idempotency-key': 'once' } }
    expect((await payMerchant(one, keyed, order)).status).toBe(200)
    expectProblem(await payMerchant(other, keyed, order), 409, 'idempotency_unreadable')
    expect(await settledBalances(one, market)).toEqual([8, 2])
  })
})

contract('a standing approval', (start) => {
  it('lets later payments to the same twin pass, each up to the amount, in the same digital quantity', {
    tags: 'everywhere',
  }, async () => {
    const { call, market, payer, pay, asked } = await prepared(start)
    expect((await pay({ amount: 2 })).status).toBe(200)
    await setPhone(call, payer, 'reject')
    for (const amount of [2, 0.5, 2]) expect((await pay({ amount, merchantName: 'Another name' })).status).toBe(200)
    expect(await asked()).toBe(1)
    expectProblem(await pay({ amount: 2.001 }), 408, 'payment_denied')
    expect(await asked()).toBe(2)
    expect((await pay({ amount: 1 })).status).toBe(200)
    expect(await settledBalances(call, market)).toEqual([2.5, 7.5])
  })

  it('counts for no other twin, seller, name, quantity or operation', async () => {
    const { call, market, payer, session, shop, pay, asked, order } = await prepared(start)
    expect((await pay({ merchantName: 'The Daily' })).status).toBe(200)
    await setPhone(call, payer, 'reject')
    const thief = await newSeller(call)
    await call('PUT', '/v4/account', { token: thief.token, body: { businessName: 'The Daily' } })
    const [stolen, sibling] = [await newTwin(call, thief.token), await newTwin(call, market.seller.token)]
    for (const { hostname } of [stolen, sibling])
      expectProblem(await pay({ destinationUrl: hostname, merchantName: 'The Daily' }), 408, 'payment_denied')
    const seed = { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 3 }] }
    await call('POST', '/_sandbox/seed', { body: seed })
    const hash = (await call('GET', '/v4/dq')).body.digital_quantities[1]
    await call('POST', '/_sandbox/fund', { body: { hostname: payer.hostname, amount: 5, dq: hash } })
    expectProblem(await pay({ paymentTypeHash: hash }), 408, 'payment_denied')
    const v4 = { amount: 2, destination: shop }
    expectProblem(await call('POST', '/v4/paywall', { session, body: v4 }), 403, 'rejected')
    // The approval of a v4 call stands for nothing.
    await setPhone(call, payer, 'approve')
    expect((await call('POST', '/v4/paywall', { session, body: { ...v4, destination: stolen.hostname } })).status).toBe(
      200,
    )
    await setPhone(call, payer, 'reject')
    expectProblem(await pay({ destinationUrl: stolen.hostname }), 408, 'payment_denied')
    // Nor does that of one user stand for another.
    const other = await newPayer(call, market.seller, { balance: 10 })
    const others = await sessionOf(call, other)
    await registerDevice(call, other)
    await setPhone(call, other, 'reject')
    expectProblem(await payMerchant(call, { session: others }, order), 408, 'payment_denied')
    expect(await asked()).toBe(7)
    expect((await pay()).status).toBe(200)
  })

  it('stays with its twin when the payee gets a new name', async () => {
    const { call, market, payer, pay, asked } = await prepared(start)
    expect((await pay()).status).toBe(200)
    await setPhone(call, payer, 'reject')
    await call('PUT', '/v4/account', { token: market.seller.token, body: { businessName: 'Renamed' } })
    expect((await pay()).body).toMatchObject({ status: 'success', merchant: 'Renamed' })
    expect(await asked()).toBe(1)
  })

  it('ends when its user revokes it, and shows so', { tags: 'everywhere' }, async () => {
    const { call, market, payer, pay } = await prepared(start)
    expect((await pay()).status).toBe(200)
    await setPhone(call, payer, 'reject')
    const [{ id }] = await authorizations(call, payer)
    const eve = await newPayer(call, market.seller)
    expectProblem(await revoke(call, eve, id), 404, 'not_found')
    expect((await pay()).status).toBe(200)
    const revoked = await revoke(call, payer, id)
    expect([revoked.status, revoked.body]).toEqual([200, { success: true, message: 'The authorization is revoked.' }])
    expect((await authorizations(call, payer))[0]).toMatchObject({ id, status: 'denied', authorized_at: null })
    expectProblem(await revoke(call, payer, id), 400, 'authorization_answered')
    expectProblem(await pay(), 408, 'payment_denied')
  })

  it('ends after 30 days, to the millisecond', async () => {
    const { call, at, payer, pay } = await prepared(start)
    expect((await pay()).status).toBe(200)
    const [{ id, expires_at }] = await authorizations(call, payer)
    expect(expires_at).toBe(at / 1000 + 30 * 86_400)
    await setPhone(call, payer, 'reject')
    await setClock(call, at + 30 * 86_400_000 - 1)
    const last = await sessionOf(call, await refreshed(call, payer))
    expect((await pay({}, { session: last })).status).toBe(200)
    await advance(call, '1ms')
    expectProblem(await pay({}, { session: last }), 408, 'payment_denied')
    const shown = await authorizations(call, await refreshed(call, payer))
    expect(shown.find((each: { id: number }) => each.id === id)?.status ?? 'expired').toBe('expired')
  })

  it('never serves a page session, whose payments each need an answer, and which creates none', async () => {
    const { call, made: market } = await startWith(start, newMarket)
    const page = await newPage(call, market, 'approve')
    const { payer, shop } = market
    const order = { paymentTypeHash: await defaultDq(call), amount: 1, destinationUrl: shop }
    expect((await payMerchant(call, page, order)).status).toBe(200)
    const [asked] = await authorizations(call, payer)
    expect(asked.metadata).toMatchObject({ page: ORIGIN, payee: shop })
    expect(asked.metadata).not.toHaveProperty('later_payments')
    const session = await sessionOf(call, payer)
    await setPhone(call, payer, 'reject')
    expectProblem(await payMerchant(call, { session }, order), 408, 'payment_denied')
    await setPhone(call, payer, 'approve')
    expect((await payMerchant(call, { session }, { ...order, amount: 2 })).status).toBe(200)
    await setPhone(call, payer, 'reject')
    expectProblem(await payMerchant(call, page, { ...order, amount: 0.5 }), 408, 'payment_denied')
    expectProblem(
      await payMerchant(call, { ...page, headers: { origin: 'https://app.example.test' } }, order),
      401,
      'page_refused',
    )
    expect(await settledBalances(call, market)).toEqual([7, 3])
  })

  it('pays or is revoked, whichever comes first, and never pays after', async () => {
    const { call, market, payer, pay } = await prepared(start)
    expect((await pay({ amount: 1 })).status).toBe(200)
    await setPhone(call, payer, 'reject')
    const [{ id }] = await authorizations(call, payer)
    const racing = await Promise.all([pay({ amount: 1 }), revoke(call, payer, id), pay({ amount: 1 })])
    const paid = [racing[0], racing[2]].filter(({ status }) => status === 200).length
    expect(racing[1].status).toBe(200)
    expect(await settledBalances(call, market)).toEqual([9 - paid, 1 + paid])
    expectProblem(await pay({ amount: 1, merchantName: 'after' }), 408, 'payment_denied')
  })

  it('is not made by an approval that comes too late, or that another call asked for', async () => {
    const { call, payer, session, order, pay } = await prepared(start, 'ignore')
    const waiting = pay()
    const { id } = await askedAuthorization(call, payer)
    await advance(call, '30s')
    expectProblem(await waiting, 408, 'approval_timeout')
    const put = (authorizationId: number) =>
      call('PUT', PATH, { token: payer.token, body: { authorizationId, approved: true } })
    expectProblem(await put(id), 400, 'authorization_expired')
    // The session's own request in the words of a payment.
    const detail = { payee: order.destinationUrl, amount: '2.00 USD', dq: order.paymentTypeHash }
    const own = await call('POST', '/v4/authentication-requests', { session, body: { action: 'paywall', detail } })
    expect((await put(own.body.id)).status).toBe(200)
    await setPhone(call, payer, 'reject')
    await advance(call, '3s')
    expectProblem(await pay(), 408, 'payment_denied')
  })
})

async function refreshed(call: Call, payer: Payer): Promise<Payer> {
  const headers = { authorization: `Basic ${btoa(`${payer.clientId}:${payer.clientSecret}`)}` }
  return { ...payer, token: (await call('POST', '/v4/user/oauth/token', { headers })).body.access_token }
}
