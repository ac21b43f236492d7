import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import {
  advance,
  balancesOf,
  expectProblem,
  expectSoundLedger,
  fund,
  pay,
  readPages,
  stopClock,
  UNKNOWN_COMMODITY,
} from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller, newSession, newTwin } from '../../support/scenes/world.js'

const quantities = [
  { name: 'Points', shortcode: 'PTS', decimals: 0 },
  { name: 'Nano', shortcode: 'NAN', decimals: 9 },
]

contract('createPayment', (start) => {
  async function prepared({ cost = 0.25, balance = 1 } = {}) {
    const running = await start({ seed: { digital_quantities: quantities } })
    const { call } = running
    const at = await stopClock(call)
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance })
    const commodity = await newCommodity(call, seller, { cost })
    const send = (body: object = {}, headers = {}) =>
      call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token, body, headers })
    const balances = async () => [
      await balanceOf(call, payer.token, payer.hostname),
      await balanceOf(call, seller.token, commodity.hostname),
    ]
    return { ...running, at, seller, payer, commodity, send, balances }
  }

  for (const version of ['v4', 'v2'])
    test(`moves the price and answers 202 with the payment, its nonce and the milliseconds, under /${version}`, async () => {
      const { call, at, payer, commodity, balances } = await prepared()
      await advance(call, '123ms')
      const { status, body, headers } = await call('POST', `/${version}/payment/${commodity.hash}`, {
        token: payer.token,
      })
      expect(status).toBe(202)
      expect(body).toEqual({
        id: expect.any(Number),
        hash: commodity.hash,
        descriptor: 'NEWS.ARTICLE',
        dq: commodity.dq,
        amount: 0.25,
        hostname: payer.hostname,
        payee_hostname: commodity.hostname,
        kind: 'payment',
        status: 'posted',
        created_at: at / 1000,
        nonce: expect.stringMatching(/^[\w-]{43}$/),
        timestamp: at + 123,
      })
      expect(headers.get('cache-control')).toBe('private, no-store')
      expect(await balances()).toEqual([0.75, 0.25])
    })

  test('needs no body, and accepts an empty one, JSON or a form', async () => {
    const { call, payer, commodity, balances } = await prepared()
    const path = `/v4/payment/${commodity.hash}/`
    const json = { 'content-type': 'application/json' }
    expect((await call('POST', path, { token: payer.token })).status).toBe(202)
    expect((await call('POST', path, { token: payer.token, raw: '', headers: json })).status).toBe(202)
    expect((await call('POST', path, { token: payer.token, body: {} })).status).toBe(202)
    expect((await call('POST', path, { token: payer.token, form: { hostname: payer.hostname } })).status).toBe(202)
    expect(await balances()).toEqual([0, 1])
  })

  test('gives every payment its own nonce, and stores none of them', async () => {
    const { send, state } = await prepared()
    const nonces = [(await send({}, { 'idempotency-key': 'first' })).body.nonce, (await send()).body.nonce]
    expect(nonces[0]).not.toBe(nonces[1])
    const kept = JSON.stringify(await state())
    for (const nonce of nonces) expect(kept).not.toContain(nonce)
  })

  test('pays with a signed-in session like with a token, and refuses a guest session', async () => {
    const { call, payer, commodity, balances } = await prepared()
    const session = await newSession(call, payer.email)
    const { status, body } = await call('POST', `/v4/payment/${commodity.hash}`, { session })
    expect([status, body.hostname]).toEqual([202, payer.hostname])
    expect(await balances()).toEqual([0.75, 0.25])
    const guest = (await call('GET', '/v4/session')).body.session_id
    expectProblem(await call('POST', `/v4/payment/${commodity.hash}`, { session: guest }), 401, 'sign_in_required')
    expectProblem(await call('POST', `/v4/payment/${commodity.hash}`), 401, 'authorization_missing')
  })

  test('pays from the named twin, by hostname or id, and from the primary one by default', async () => {
    const { call, payer, commodity, send } = await prepared()
    const second = await newTwin(call, payer.token)
    await fund(call, second.hostname, 0.5)
    expect((await send({ hostname: second.hostname })).body.hostname).toBe(second.hostname)
    expect((await send({ hostname: `${second.id}` })).body.hostname).toBe(second.hostname)
    expect((await send()).body.hostname).toBe(payer.hostname)
    expect(await balancesOf(call, payer.token, second.hostname)).toEqual({ [commodity.dq]: 0 })
    expect(await balancesOf(call, payer.token, payer.hostname)).toEqual({ [commodity.dq]: 0.75 })
  })

  test("treats the commodity's own hostname as the primary twin", async () => {
    const { payer, commodity, send, balances } = await prepared()
    const { status, body } = await send({ hostname: commodity.hostname })
    expect([status, body.hostname, body.payee_hostname]).toEqual([202, payer.hostname, commodity.hostname])
    expect(await balances()).toEqual([0.75, 0.25])
  })

  test("refuses to pay from anyone else's twin", async () => {
    const { call, seller, send, state } = await prepared()
    const other = await newPayer(call, seller, { balance: 5 })
    const sellers = await newTwin(call, seller.token)
    const before = (await state()).rows
    for (const { hostname } of [other, sellers]) expectProblem(await send({ hostname }), 403, 'not_owner')
    const [{ id }] = (await call('GET', '/v4/twins', { token: other.token })).body.twins
    expectProblem(await send({ hostname: `${id}` }), 404, 'not_found')
    expect((await send({ hostname: `${id}` })).text).toBe((await send({ hostname: '999999' })).text)
    expectProblem(await send({ hostname: 'nobody.twin.localhost' }), 404, 'not_found')
    expectProblem(await send({ hostname: 5 }), 400, 'field_invalid')
    expect((await state()).rows).toEqual(before)
  })

  test('returns a nonce for a free commodity, and moves nothing', async () => {
    const { call, seller, payer, commodity, balances } = await prepared({ cost: 0, balance: 0 })
    const { movements } = await expectSoundLedger(call)
    const paid = await pay(call, payer, commodity)
    expect(paid.amount).toBe(0)
    expect(await balances()).toEqual([0, 0])
    expect((await expectSoundLedger(call)).movements).toBe(movements)
    const { nonce, timestamp } = paid
    const validated = await call('POST', `/v4/payment/${commodity.hash}/validate`, {
      token: seller.token,
      body: { nonce, timestamp },
    })
    expect(validated.status).toBe(200)
  })

  test("refuses to overdraw the payer's twin by one smallest unit, and spends its whole balance", async () => {
    const { call, payer, send, balances, state } = await prepared({ cost: 0.25, balance: 0.5 })
    expect([(await send()).status, (await send()).status]).toEqual([202, 202])
    expect(await balances()).toEqual([0, 0.5])
    await fund(call, payer.hostname, 0.249)
    const before = (await state()).rows
    expectProblem(await send(), 402, 'insufficient_funds')
    expect((await state()).rows).toEqual(before)
    await fund(call, payer.hostname, 0.001)
    expect((await send()).status).toBe(202)
  })

  test('counts 0 and 9 decimals exactly, up to 2^53-1 smallest units', async () => {
    const { call, seller, payer, commodity } = await prepared()
    const [, points, nano] = (await call('GET', '/v4/dq')).body.digital_quantities as [string, string, string]
    const cases = [
      { dq: points, balance: 9007199254740991, cost: 9007199254740990, left: 1 },
      { dq: nano, balance: 4503599.627370496, cost: 4503599.627370495, left: 0.000000001 },
    ]
    for (const { dq, balance, cost, left } of cases) {
      const body = { descriptor: 'ALL.OF.IT', dq, cost, twin_id: commodity.twinId }
      const { hash } = (await call('POST', '/v4/commodity', { token: seller.token, body })).body
      expect((await fund(call, payer.hostname, balance, dq)).body.balance).toBe(balance)
      expect((await pay(call, payer, { hash })).amount).toBe(cost)
      expect((await balancesOf(call, payer.token, payer.hostname))[dq]).toBe(left)
      expect((await balancesOf(call, seller.token, commodity.hostname))[dq]).toBe(cost)
      expectProblem(await call('POST', `/v4/payment/${hash}`, { token: payer.token }), 402, 'insufficient_funds')
    }
    await expectSoundLedger(call)
  })

  test('adds tenths without drift', async () => {
    const { call, payer, commodity, balances } = await prepared({ cost: 0.1, balance: 1 })
    for (let n = 0; n < 3; n++) await pay(call, payer, commodity)
    expect(await balances()).toEqual([0.7, 0.3])
    expect(0.1 + 0.1 + 0.1).not.toBe(0.3)
  })

  test('refuses a price in a digital quantity that the payer does not have', async () => {
    const { call, seller, payer, commodity } = await prepared()
    const [, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    const body = { descriptor: 'GAME', dq: points, cost: 1, twin_id: commodity.twinId }
    const { hash } = (await call('POST', '/v4/commodity', { token: seller.token, body })).body
    expectProblem(await call('POST', `/v4/payment/${hash}`, { token: payer.token }), 402, 'insufficient_funds')
  })

  test('refuses an unknown hash, and an account that pays for its own commodity', async () => {
    const { call, seller, payer, commodity } = await prepared()
    const path = `/v4/payment/${UNKNOWN_COMMODITY}`
    expectProblem(await call('POST', path, { token: payer.token }), 404, 'not_found')
    const { token } = seller
    expectProblem(await call('POST', `/v4/payment/${commodity.hash}`, { token }), 403, 'delegate_required')
  })

  test('pays once with one Idempotency-Key, and repeats its answer', async () => {
    const { call, seller, payer, commodity, send, balances } = await prepared()
    const key = { 'idempotency-key': 'order-1' }
    const [first, again] = [await send({}, key), await send({}, key)]
    expect([first.status, again.status]).toEqual([202, 202])
    expect(again.text).toBe(first.text)
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(await balances()).toEqual([0.75, 0.25])
    expectProblem(await send({ hostname: payer.hostname }, key), 422, 'idempotency_mismatch')
    const other = await newPayer(call, seller, { balance: 1 })
    const { body } = await call('POST', `/v4/payment/${commodity.hash}`, { token: other.token, body: {}, headers: key })
    expect(body.nonce).not.toBe(first.body.nonce)
    expect(await balances()).toEqual([0.75, 0.5])
  })

  test('pays with the Idempotency-Key of a refusal for lack of funds, and then once a day', async () => {
    const { call, payer, commodity, send } = await prepared({ balance: 0 })
    const key = { 'idempotency-key': 'order-2' }
    expectProblem(await send({}, key), 402, 'insufficient_funds')
    await fund(call, payer.hostname, 1)
    const [paid, again] = [await send({}, key), await send({}, key)]
    expect([paid.status, paid.headers.get('idempotent-replayed')]).toEqual([202, null])
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([paid.text, 'true'])
    await advance(call, '24h')
    const session = await newSession(call, payer.email)
    const later = await call('POST', `/v4/payment/${commodity.hash}`, { session, body: {}, headers: key })
    expect(later.status).toBe(202)
  })
})

contract('listPayments and readPayment', (start) => {
  /** Two payers and two sellers: five payments of the first payer to the first seller, then one of each other pair. */
  async function prepared() {
    const { call } = await start()
    const [seller, otherSeller] = [await newSeller(call), await newSeller(call)]
    const payer = await newPayer(call, seller, { balance: 10 })
    const otherPayer = await newPayer(call, seller, { balance: 10 })
    const commodity = await newCommodity(call, seller, { cost: 0.5 })
    const otherCommodity = await newCommodity(call, otherSeller, { cost: 1 })
    const ids: number[] = []
    for (let n = 0; n < 5; n++) ids.unshift((await pay(call, payer, commodity)).id)
    const elsewhere = (await pay(call, payer, otherCommodity)).id
    const byOther = (await pay(call, otherPayer, commodity)).id
    return { call, seller, otherSeller, payer, otherPayer, commodity, otherCommodity, ids, elsewhere, byOther }
  }
  const idsOf = (pages: { id: number }[][]) => pages.map((page) => page.map(({ id }) => id))

  test('list what the caller paid or received, newest first, page by page', async () => {
    const { call, seller, otherSeller, payer, otherPayer, ids, elsewhere, byOther } = await prepared()
    const pages = async ({ token }: { token: string }, limit: number) =>
      idsOf(await readPages(call, '/v4/payments', { plural: 'payments', token, limit }))
    expect(await pages(payer, 100)).toEqual([[elsewhere, ...ids]])
    expect(await pages(payer, 2)).toEqual([[elsewhere, ids[0]], ids.slice(1, 3), ids.slice(3)])
    expect(await pages(seller, 4)).toEqual([[byOther, ...ids.slice(0, 3)], ids.slice(3)])
    expect(await pages(otherSeller, 1)).toEqual([[elsewhere]])
    expect(await pages(otherPayer, 1)).toEqual([[byOther]])
  })

  test('list them to a session, and nothing to users who neither paid nor sold', async () => {
    const { call, payer, ids, elsewhere } = await prepared()
    const session = await newSession(call, payer.email)
    const { body } = await call('GET', '/v4/payments', { session })
    expect(idsOf([body.payments])).toEqual([[elsewhere, ...ids]])
    const { token } = await newSeller(call)
    expect((await call('GET', '/v4/payments', { token })).body).toEqual({ payments: [], next: null })
  })

  test('refuse cursors that are unknown or of someone else', async () => {
    const { call, payer, byOther } = await prepared()
    for (const after of [0, 999999, byOther])
      expectProblem(await call('GET', `/v4/payments?after=${after}`, { token: payer.token }), 400, 'cursor_invalid')
    for (const query of ['limit=0', 'limit=101', 'after=last'])
      expectProblem(await call('GET', `/v4/payments?${query}`, { token: payer.token }), 400, 'field_invalid')
  })

  test('show payer and payee the same payment, without its nonce', async () => {
    const { call, seller, payer, ids, commodity } = await prepared()
    const shown = (await call('GET', `/v4/payments/${ids[0]}`, { token: payer.token })).body
    expect(shown).toEqual({
      id: ids[0],
      hash: commodity.hash,
      descriptor: 'NEWS.ARTICLE',
      dq: commodity.dq,
      amount: 0.5,
      hostname: payer.hostname,
      payee_hostname: commodity.hostname,
      kind: 'payment',
      status: 'posted',
      created_at: expect.any(Number),
    })
    expect((await call('GET', `/v4/payments/${ids[0]}`, { token: seller.token })).body).toEqual(shown)
    const session = await newSession(call, payer.email)
    expect((await call('GET', `/v4/payments/${ids[0]}`, { session })).body).toEqual(shown)
  })

  test('treat a payment of others like an absent one', async () => {
    const { call, otherSeller, otherPayer, ids } = await prepared()
    const absent = await call('GET', '/v4/payments/999999', { token: otherPayer.token })
    expectProblem(absent, 404, 'not_found')
    for (const { token } of [otherSeller, otherPayer])
      expect((await call('GET', `/v4/payments/${ids[0]}`, { token })).text).toBe(absent.text)
    for (const id of ['first', '1.5', '-1', '%20'])
      expectProblem(await call('GET', `/v4/payments/${id}`, { token: otherPayer.token }), 404, 'not_found')
  })
})

contract('listCommodityTransactions', (start) => {
  test("lists a commodity's payments to its seller, newest first, page by page", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payers = [await newPayer(call, seller, { balance: 9 }), await newPayer(call, seller, { balance: 9 })]
    const commodity = await newCommodity(call, seller, { cost: 1 })
    const paid = []
    for (const payer of [...payers, ...payers, ...payers]) {
      const { nonce, timestamp, ...payment } = await pay(call, payer, commodity)
      paid.unshift(payment)
    }
    await pay(call, payers[0] as (typeof payers)[0], await newCommodity(call, seller))
    const path = `/v4/commodity/${commodity.hash}/transactions`
    const pages = await readPages(call, path, { plural: 'transactions', token: seller.token, limit: 4 })
    expect(pages).toEqual([paid.slice(0, 4), paid.slice(4)])
  })

  test('shows them to nobody else, and refuses cursors of another commodity', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller, { balance: 1 })
    const [one, two] = [await newCommodity(call, seller), await newCommodity(call, seller)]
    const { id } = await pay(call, payer, one)
    const read = (hash: string, { token } = seller as { token: string }, query = '') =>
      call('GET', `/v4/commodity/${hash}/transactions${query}`, { token })
    expectProblem(await read(one.hash, await newSeller(call)), 403, 'not_owner')
    expectProblem(await read(one.hash, payer), 403, 'not_an_account')
    expectProblem(await read(UNKNOWN_COMMODITY), 404, 'not_found')
    expectProblem(await read(two.hash, seller, `?after=${id}`), 400, 'cursor_invalid')
    expectProblem(await read(one.hash, seller, '?limit=101'), 400, 'field_invalid')
    expect((await read(two.hash)).body).toEqual({ transactions: [], next: null })
  })
})
