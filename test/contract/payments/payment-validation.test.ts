import { expect, test } from 'vitest'
import type { ContractOptions } from '../../runtimes/runtime.js'
import { contract } from '../../support/contract/contract.js'
import {
  advance,
  expectProblem,
  expectSoundLedger,
  pay,
  stopClock,
  UNKNOWN_COMMODITY,
} from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

contract('validatePayment and readPaymentNonce', (start) => {
  /** A payment of 0.25 at 123 ms past a whole second; every call is the seller's unless told. */
  async function prepared(options: ContractOptions = {}) {
    const running = await start(options)
    const { call } = running
    const at = (await stopClock(call)) + 123
    await advance(call, '123ms')
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: 5 })
    const commodity = await newCommodity(call, seller, { cost: 0.25 })
    const paid = await pay(call, payer, commodity)
    const { nonce, timestamp } = paid
    type Proof = { hash?: string; version?: string; token?: string; nonce?: unknown; timestamp?: unknown }
    const validate = ({ hash = commodity.hash, version = 'v4', token = seller.token, ...sent }: Proof = {}) =>
      call('POST', `/${version}/payment/${hash}/validate`, { token, body: { nonce, timestamp, ...sent } })
    const look = ({ hash = commodity.hash, version = 'v4', token = seller.token, ...sent }: Proof = {}) => {
      const query = new URLSearchParams({ nonce, timestamp: `${timestamp}`, ...(sent as Record<string, string>) })
      return call('GET', `/${version}/payment/${hash}/validate?${query}`, { token })
    }
    return { ...running, at, seller, payer, commodity, paid, nonce, timestamp, validate, look }
  }

  for (const version of ['v4', 'v2'])
    test(`spend a nonce once, and show the payment, under /${version}`, async () => {
      const { paid, validate } = await prepared()
      const { nonce, timestamp, ...payment } = paid
      const { status, body } = await validate({ version })
      expect(status).toBe(200)
      expect(body).toEqual({ valid: true, payment })
      expectProblem(await validate({ version }), 400, 'nonce_used')
    })

  test('take the timestamp in milliseconds or seconds, as a number or digits, JSON or form', async () => {
    const { call, at, seller, payer, commodity, validate } = await prepared()
    for (const timestamp of [at, `${at}`, Math.floor(at / 1000), `${Math.floor(at / 1000)}`]) {
      const { nonce } = await pay(call, payer, commodity)
      expect((await validate({ nonce, timestamp })).status).toBe(200)
    }
    const { nonce, timestamp } = await pay(call, payer, commodity)
    const form = { nonce, timestamp: `${timestamp}` }
    const path = `/v2/payment/${commodity.hash}/validate/`
    expect((await call('POST', path, { token: seller.token, form })).status).toBe(200)
  })

  test('compare no timestamp if none is sent, and still spend the nonce once and only for its seller', async () => {
    const { call, seller, payer, commodity, nonce } = await prepared()
    const thief = await newSeller(call)
    const path = (hash: string) => `/v2/payment/${hash}/validate`
    const other = await newCommodity(call, seller)
    const body = { nonce }
    expectProblem(await call('POST', path(commodity.hash), { token: thief.token, body }), 403, 'not_owner')
    expectProblem(await call('POST', path(other.hash), { token: seller.token, body }), 400, 'nonce_unknown')
    const looked = await call('GET', `${path(commodity.hash)}?nonce=${nonce}`, { token: seller.token })
    expect([looked.status, looked.body.used_at]).toEqual([200, null])
    expect((await call('POST', path(commodity.hash), { token: seller.token, body })).status).toBe(200)
    expectProblem(await call('POST', path(commodity.hash), { token: seller.token, body }), 400, 'nonce_used')
    const { nonce: next } = await pay(call, payer, commodity)
    expect((await call('POST', path(commodity.hash), { token: seller.token, form: { nonce: next } })).status).toBe(200)
  })

  test('refuse a nonce with a wrong timestamp, without spending it', async () => {
    const { at, validate } = await prepared()
    const others = [at + 1, at - 1, at - 123, Math.floor(at / 1000) + 1, 0, -at, at / 1000, `${at}0`, '', 'now', 1e300]
    for (const timestamp of others) expectProblem(await validate({ timestamp }), 400, 'nonce_unknown')
    expect((await validate()).status).toBe(200)
  })

  test('refuse an invented nonce, or one of another payment', async () => {
    const { call, payer, commodity, nonce, validate } = await prepared()
    for (const other of ['', 'made-up', nonce.slice(1), nonce.toUpperCase(), ` ${nonce}`])
      expectProblem(await validate({ nonce: other }), 400, 'nonce_unknown')
    await advance(call, '1s')
    const { timestamp } = await pay(call, payer, commodity)
    expectProblem(await validate({ timestamp }), 400, 'nonce_unknown')
  })

  test("spend a nonce only for its own commodity, even among the same seller's", async () => {
    const { call, seller, validate, look } = await prepared()
    const { hash } = await newCommodity(call, seller)
    expectProblem(await validate({ hash }), 400, 'nonce_unknown')
    expectProblem(await look({ hash }), 404, 'not_found')
    expect((await validate()).status).toBe(200)
  })

  test('work only for the account that sells the commodity', async () => {
    const { call, payer, validate, look } = await prepared()
    const other = await newSeller(call)
    const others = await newCommodity(call, other)
    for (const ask of [validate, look]) {
      expectProblem(await ask({ token: other.token }), 403, 'not_owner')
      expectProblem(await ask({ hash: others.hash }), 403, 'not_owner')
      expectProblem(await ask({ token: payer.token }), 403, 'not_an_account')
      expectProblem(await ask({ hash: UNKNOWN_COMMODITY }), 404, 'not_found')
    }
    expectProblem(await validate({ hash: others.hash, token: other.token }), 400, 'nonce_unknown')
    expectProblem(await look({ hash: others.hash, token: other.token }), 404, 'not_found')
    expect((await validate()).status).toBe(200)
  })

  test('name the field that is missing or of the wrong type', async () => {
    const { call, seller, commodity, validate } = await prepared()
    const refused = [await validate({ nonce: 5 }), await validate({ nonce: null }), await validate({ timestamp: null })]
    expect(refused.map(({ status, body }) => [status, body.code, body.field])).toEqual([
      [400, 'field_invalid', 'nonce'],
      [400, 'field_invalid', 'nonce'],
      [400, 'field_invalid', 'timestamp'],
    ])
    const path = `/v4/payment/${commodity.hash}/validate`
    expectProblem(await call('GET', path, { token: seller.token }), 400, 'field_invalid')
    expectProblem(await call('POST', path, { token: seller.token, body: {} }), 400, 'field_invalid')
    expectProblem(await call('POST', path, { token: seller.token }), 400, 'field_invalid')
  })

  test('spend a nonce a millisecond before it is 15 minutes old, and not at 15 minutes', async () => {
    const { call, payer, commodity, validate } = await prepared()
    const { nonce } = await pay(call, payer, commodity)
    await advance(call, '14m59s999ms')
    expect((await validate()).status).toBe(200)
    await advance(call, '1ms')
    expectProblem(await validate({ nonce }), 400, 'nonce_expired')
    expectProblem(await validate(), 400, 'nonce_used')
  })

  test('keep a nonce for the configured number of seconds', { tags: 'everywhere' }, async () => {
    const { call, at, payer, commodity, validate, look } = await prepared({ limits: { nonceSeconds: 2 } })
    const { nonce } = await pay(call, payer, commodity)
    expect((await look()).body.expires_at).toBe(Math.floor(at / 1000) + 2)
    await advance(call, '1s999ms')
    expect((await validate()).status).toBe(200)
    await advance(call, '1ms')
    expectProblem(await validate({ nonce }), 400, 'nonce_expired')
  })

  test('move no value', async () => {
    const { call, seller, payer, commodity, validate, look } = await prepared()
    const all = async () => [
      await balanceOf(call, payer.token, payer.hostname),
      await balanceOf(call, seller.token, commodity.hostname),
      (await expectSoundLedger(call)).movements,
    ]
    const before = await all()
    await look()
    await validate()
    await validate()
    expect(await all()).toEqual(before)
  })

  for (const version of ['v4', 'v2'])
    test(`look at a nonce without spending it, under /${version}`, async () => {
      const { call, at, payer, commodity, nonce, validate, look } = await prepared()
      const seconds = Math.floor(at / 1000)
      const { id } = (await call('GET', '/v4/twins', { token: payer.token })).body.twins[0]
      const fresh = {
        created_at: seconds,
        expires_at: seconds + 900,
        used_at: null,
        twin_id: id,
        nonce,
        cost: commodity.cost,
      }
      for (const timestamp of [`${at}`, `${seconds}`]) {
        const { status, body } = await look({ version, timestamp })
        expect(status).toBe(200)
        expect(body).toEqual(fresh)
      }
      await advance(call, '1m')
      expect((await validate({ version })).status).toBe(200)
      expect((await look({ version })).body).toEqual({ ...fresh, used_at: seconds + 60 })
      await advance(call, '20m')
      expect((await look({ version })).body).toEqual({ ...fresh, used_at: seconds + 60 })
    })

  test('find nothing with a wrong nonce or timestamp', async () => {
    const { at, look } = await prepared()
    for (const proof of [{ nonce: 'made-up' }, { nonce: '' }, { timestamp: `${at + 1}` }, { timestamp: 'now' }])
      expectProblem(await look(proof), 404, 'not_found')
  })

  test('distinguish the nonces of payments in one millisecond', async () => {
    const { call, payer, commodity, validate } = await prepared()
    const paid = []
    for (let n = 0; n < 10; n++) paid.push(await pay(call, payer, commodity))
    expect(new Set(paid.map(({ timestamp }) => timestamp)).size).toBe(1)
    const ids = []
    for (const { nonce, timestamp } of paid) ids.push((await validate({ nonce, timestamp })).body.payment.id)
    expect(ids).toEqual(paid.map(({ id }) => id))
  })
})
