import { expect, test } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newItem } from '../../support/scenes/catalog.js'
import { balancesOf, expectProblem, expectSoundLedger, fund, UNKNOWN_COMMODITY } from '../../support/scenes/market.js'
import {
  defaultDq,
  newCommodity,
  newPayer,
  newReader,
  newSeller,
  newSession,
  newTwin,
  type Seller,
} from '../../support/scenes/world.js'

const PAGE = 'https://shop.example.test'

/** A commodity that pays its readers, from a twin that holds `balance`. */
async function newPayback(call: Call, seller: Seller, { cost = 0.25, balance = 5 } = {}) {
  const dq = await defaultDq(call)
  const { id, hostname } = await newTwin(call, seller.token)
  if (balance > 0) await fund(call, hostname, balance)
  const body = { descriptor: 'NEWS.CONSENT', dq, cost, twin_id: id, payback: true }
  const { status, body: commodity } = await call('POST', '/v4/commodity', { token: seller.token, body })
  expect(status).toBe(201)
  expect(Object.keys(commodity)).toEqual(['hash', 'descriptor', 'dq', 'cost', 'hostname'])
  return { hash: commodity.hash as string, dq, hostname }
}

contract('createPayback', (start) => {
  async function prepared(options: { cost?: number; balance?: number } = {}) {
    const { call, made: seller } = await startWith(start, newSeller)
    const commodity = await newPayback(call, seller, options)
    const reader = await newReader(call, seller)
    const send = (body: object = {}, headers: Record<string, string> = {}) =>
      call('POST', `/v4/payback/${commodity.hash}`, { token: reader.token, body, headers })
    const balances = async () => [
      (await balancesOf(call, seller.token, commodity.hostname))[commodity.dq],
      (await balancesOf(call, reader.token, reader.hostname))[commodity.dq],
    ]
    return { call, seller, commodity, reader, send, balances }
  }

  test("moves the price from the seller's twin to the reader, with a nonce that the seller validates once", async () => {
    const { call, seller, commodity, reader, send, balances } = await prepared()
    const { status, body } = await send({ consent: ['You may write to me.'], origin: PAGE })
    expect(status).toBe(202)
    expect(body).toEqual({
      id: expect.any(Number),
      hash: commodity.hash,
      descriptor: 'NEWS.CONSENT',
      dq: commodity.dq,
      amount: 0.25,
      hostname: commodity.hostname,
      payee_hostname: reader.hostname,
      kind: 'payback',
      status: 'posted',
      created_at: expect.any(Number),
      nonce: expect.any(String),
      timestamp: expect.any(Number),
    })
    expect(await balances()).toEqual([4.75, 0.25])
    const proof = { token: seller.token, body: { nonce: body.nonce, timestamp: body.timestamp } }
    const path = `/v4/payment/${commodity.hash}/validate`
    const validated = await call('POST', path, proof)
    expect([validated.status, validated.body.payment.kind]).toEqual([200, 'payback'])
    expectProblem(await call('POST', path, proof), 400, 'nonce_used')
    await expectSoundLedger(call)
  })

  test('sends both sides an event with the texts of the consent and the page', async () => {
    const { call, seller, reader, send } = await prepared()
    const consent = ['You may write to me.', 'Newsletter\nOnce a week']
    const { id } = (await send({ consent, origin: PAGE })).body
    for (const { token } of [seller, reader]) {
      const { events } = (await call('GET', '/v4/events?type=payment.created', { token })).body
      expect(events).toHaveLength(1)
      expect(events[0]).toMatchObject({
        actor: `user:${reader.id}`,
        subject: `payment:${id}`,
        data: { amount: 0.25, payee_hostname: reader.hostname, consent, origin: PAGE },
      })
    }
  })

  test('is a payment in the lists of both sides', async () => {
    const { call, seller, reader, send } = await prepared()
    const { nonce, timestamp, ...payment } = (await send()).body
    for (const { token } of [seller, reader])
      expect((await call('GET', '/v4/payments', { token })).body.payments).toEqual([payment])
  })

  test('pays each user once, also without a consent', async () => {
    const { call, seller, commodity, send, balances } = await prepared()
    expect((await send()).status).toBe(202)
    expectProblem(await send(), 409, 'payback_taken')
    expectProblem(await send({ consent: ['Something else.'] }), 409, 'payback_taken')
    const { events } = (await call('GET', '/v4/events?type=payment.created', { token: seller.token })).body
    expect(events).toMatchObject([{ data: { consent: [], origin: null } }])
    expect(await balances()).toEqual([4.75, 0.25])
    const other = await newSession(call, (await newPayer(call, seller)).email)
    expect((await call('POST', `/v4/payback/${commodity.hash}`, { session: other })).status).toBe(202)
    expect((await balances())[0]).toBe(4.5)
  })

  test('pays once for twenty calls at once', async () => {
    const { call, send, balances } = await prepared()
    const answers = await Promise.all(Array.from({ length: 20 }, () => send()))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(19).fill(409)])
    expect(await balances()).toEqual([4.75, 0.25])
    await expectSoundLedger(call)
  })

  test('repeats its answer with the same Idempotency-Key', async () => {
    const { send, balances } = await prepared()
    const key = { 'idempotency-key': 'consent-1' }
    const [first, again] = [await send({}, key), await send({}, key)]
    expect([first.status, again.status, again.text]).toEqual([202, 202, first.text])
    expect(await balances()).toEqual([4.75, 0.25])
  })

  test("refuses to overdraw the seller's twin, and works after a top-up", async () => {
    const { call, commodity, send, balances } = await prepared({ balance: 0.249 })
    expectProblem(await send(), 402, 'insufficient_funds')
    expect(await balances()).toEqual([0.249, 0])
    await fund(call, commodity.hostname, 0.001)
    expect((await send()).status).toBe(202)
    expect(await balances()).toEqual([0, 0.25])
  })

  test('records the consent to a free payback', async () => {
    const { call, send, balances } = await prepared({ cost: 0, balance: 0 })
    const { movements } = await expectSoundLedger(call)
    const { status, body } = await send({ consent: ['You may count me.'] })
    expect([status, body.amount]).toEqual([202, 0])
    expect(await balances()).toEqual([0, 0])
    expect((await expectSoundLedger(call)).movements).toBe(movements)
  })

  test('refuses a payment for a payback, and a payback for a commodity', async () => {
    const { call, seller, commodity, reader } = await prepared()
    const { token } = reader
    for (const version of ['v2', 'v4'])
      expectProblem(await call('POST', `/${version}/payment/${commodity.hash}`, { token }), 409, 'payback_only')
    const sold = await newCommodity(call, seller)
    expectProblem(await call('POST', `/v4/payback/${sold.hash}`, { token }), 409, 'payback_refused')
    expectProblem(await call('POST', `/v4/payback/${UNKNOWN_COMMODITY}`, { token }), 404, 'not_found')
  })

  test('limits the size of texts and origins, and requires a user with a proven email', async () => {
    const { call, seller, commodity, send } = await prepared()
    for (const body of [
      { consent: Array(21).fill('x') },
      { consent: ['x'.repeat(2001)] },
      { consent: 'x' },
      { consent: [{ text: 'x' }] },
      { origin: 'shop' },
      { origin: `${PAGE}/path` },
    ])
      expectProblem(await send(body), 400, 'field_invalid')
    const path = `/v4/payback/${commodity.hash}`
    expectProblem(await call('POST', path, { token: seller.token }), 403, 'wrong_principal')
    expectProblem(await call('POST', path), 401, 'authorization_missing')
    const { token } = await newPayer(call, seller)
    expectProblem(await call('POST', path, { token }), 403, 'email_unproven')
    const most = { consent: Array(20).fill('x'.repeat(2000)), origin: 'http://localhost:8080' }
    expect((await send(most)).status).toBe(202)
  })

  test('depends on how a v2 commodity was created', async () => {
    const { call, seller, reader } = await prepared()
    const { id } = await newTwin(call, seller.token)
    const dq = await defaultDq(call)
    const made = async (payback: boolean) => {
      const body = { descriptor: 'NEWS.CONSENT', dq, cost: 0, twin_id: id, payback }
      return (await call('POST', '/v2/commodity', { token: seller.token, body })).body.hash
    }
    const { token } = reader
    expect((await call('POST', `/v4/payback/${await made(true)}`, { token })).status).toBe(202)
    expectProblem(await call('POST', `/v4/payback/${await made(false)}`, { token }), 409, 'payback_refused')
  })

  test('can be created by a seed too', { tags: 'everywhere' }, async () => {
    const seed = {
      accounts: [{ name: 'News', balance: 5 }],
      users: [{ email: 'reader@example.test' }],
      commodities: [
        { account: 'News', descriptor: 'NEWS.CONSENT', cost: 0.25, hash: UNKNOWN_COMMODITY, payback: true },
      ],
    }
    const { call } = await start({ seed })
    const session = await newSession(call, 'reader@example.test')
    expect((await call('POST', `/v4/payback/${UNKNOWN_COMMODITY}`, { session })).body.amount).toBe(0.25)
  })
})

contract('updatePayback', (start) => {
  async function prepared() {
    const { call, made: seller } = await startWith(start, newSeller)
    const commodity = await newCommodity(call, seller, { cost: 0.25 })
    await fund(call, commodity.hostname, 5)
    const put = (enabled: unknown, { token }: { token?: string } = seller, hash = commodity.hash) =>
      call('PUT', `/v4/commodity/${hash}/payback`, { ...(token && { token }), body: { enabled } })
    const consent = ({ token }: { token: string }) => call('POST', `/v4/payback/${commodity.hash}`, { token })
    return { call, seller, commodity, put, consent }
  }

  test('PUT /v4/commodity/{hash}/payback turns a commodity into one that pays its users, and back', {
    tags: 'everywhere',
  }, async () => {
    const { call, seller, commodity, put, consent } = await prepared()
    const [reader, payer] = [await newReader(call, seller), await newPayer(call, seller, { balance: 1 })]
    const refused = await consent(reader)
    expectProblem(refused, 409, 'payback_refused')
    expect(refused.body.error).toContain('PUT /v4/commodity/{hash}/payback')
    const path = `/v4/payment/${commodity.hash}`
    for (let times = 0; times < 2; times++) {
      const { status, body } = await put(true)
      expect([status, body]).toEqual([200, { hash: commodity.hash, enabled: true }])
    }
    expect((await call('GET', `/v2/commodity/${commodity.hash}`)).body.cost).toBe(0.25)
    expect((await consent(reader)).body).toMatchObject({ kind: 'payback', amount: 0.25 })
    expectProblem(await call('POST', path, { token: payer.token }), 409, 'payback_only')
    expect((await put(false)).body).toEqual({ hash: commodity.hash, enabled: false })
    expectProblem(await consent(await newReader(call, seller)), 409, 'payback_refused')
    expect((await call('POST', path, { token: payer.token })).status).toBe(202)
    await put(true)
    expectProblem(await consent(reader), 409, 'payback_taken')
    const { events } = (await call('GET', '/v4/events?limit=100', { token: seller.token })).body
    const types = events.map(({ type }: { type: string }) => type)
    expect(types.filter((type: string) => type.startsWith('account.payback'))).toEqual([
      'account.payback_enabled',
      'account.payback_disabled',
      'account.payback_enabled',
    ])
    await expectSoundLedger(call)
  })

  test('is only for the account that sells the commodity', async () => {
    const { call, seller, commodity, put } = await prepared()
    const reader = await newReader(call, seller)
    expectProblem(await put(true, await newSeller(call)), 403, 'not_owner')
    expectProblem(await put(true, reader), 403, 'not_an_account')
    expectProblem(await put(true, {}), 401, 'authorization_missing')
    expectProblem(await put(true, seller, UNKNOWN_COMMODITY), 404, 'not_found')
    // Everybody can read a publishable secret, and a page could send it.
    const path = `/v4/commodity/${commodity.hash}/payback`
    const body = { enabled: true, public_secret: seller.publicSecret }
    expectProblem(await call('PUT', path, { body }), 401, 'authorization_missing')
    for (const enabled of [undefined, null, 'true', 1]) expectProblem(await put(enabled), 400, 'field_invalid')
    expectProblem(await call('POST', `/v4/payback/${commodity.hash}`, { token: reader.token }), 409, 'payback_refused')
  })

  test('refuses what a catalog item sells', async () => {
    const { call, seller, put } = await prepared()
    const { commodity_hash, id } = await newItem(call, seller)
    expectProblem(await put(true, seller, commodity_hash as string), 409, 'sold_by_item')
    await call('POST', `/v4/catalog/items/${id}/archive`, { token: seller.token })
    expectProblem(await put(true, seller, commodity_hash as string), 409, 'sold_by_item')
    expect((await put(false, seller, commodity_hash as string)).status).toBe(200)
  })

  test('lets the nonce of a payback prove no payment, and that of a payment stay valid', async () => {
    const { call, seller, commodity, put, consent } = await prepared()
    const [reader, payer] = [await newReader(call, seller), await newPayer(call, seller, { balance: 1 })]
    const paid = (await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token })).body
    await put(true)
    const given = (await consent(reader)).body
    await put(false)
    const validate = (nonce: string) =>
      call('POST', `/v4/payment/${commodity.hash}/validate`, { token: seller.token, body: { nonce } })
    expectProblem(await validate(given.nonce), 400, 'nonce_unknown')
    const look = `/v4/payment/${commodity.hash}/validate?nonce=${given.nonce}`
    expectProblem(await call('GET', look, { token: seller.token }), 404, 'not_found')
    await put(true)
    expect([(await validate(paid.nonce)).status, (await validate(given.nonce)).status]).toEqual([200, 200])
  })
})
