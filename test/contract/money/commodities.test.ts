import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, readPages, UNKNOWN_COMMODITY, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { defaultDq, newCommodity, newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const quantities = [
  { name: 'Points', shortcode: 'PTS', decimals: 0 },
  { name: 'Nano', shortcode: 'NAN', decimals: 9 },
]

contract('createCommodity', (start) => {
  async function prepared() {
    const running = await start({ seed: { digital_quantities: quantities } })
    const { call } = running
    const seller = await newSeller(call)
    const twin = await newTwin(call, seller.token)
    const [dq, points, nano] = (await call('GET', '/v4/dq')).body.digital_quantities as [string, string, string]
    const order = { descriptor: 'NEWS.ARTICLE', dq, cost: 0.25, twin_id: twin.id }
    const create = (fields: object = {}, headers = {}) =>
      call('POST', '/v4/commodity', { token: seller.token, body: { ...order, ...fields }, headers })
    return { ...running, seller, twin, dq, points, nano, order, create }
  }

  for (const path of ['/v4/commodity/', '/v4/commodity', '/v2/commodity/', '/v2/commodity'])
    test(`answers with the five documented fields, on ${path}`, async () => {
      const { call, seller, twin, order } = await prepared()
      const { status, body } = await call('POST', path, { token: seller.token, body: order })
      expect(status).toBe(201)
      const { descriptor, dq, cost } = order
      expect(body).toEqual({ hash: expect.stringMatching(UUID), descriptor, dq, cost, hostname: twin.hostname })
    })

  test('accepts a form with numbers as digits', async () => {
    const { call, seller, twin, dq } = await prepared()
    const form = { descriptor: 'A.B', dq, cost: '1.5', twin_id: `${twin.id}` }
    const { status, body } = await call('POST', '/v4/commodity', { token: seller.token, form })
    expect([status, body.cost]).toEqual([201, 1.5])
  })

  test('stores a cost exactly, up to the largest', async () => {
    const { create, points, nano } = await prepared()
    const costs = [
      { cost: 0 },
      { cost: 0.001 },
      { cost: 1234567.891 },
      { cost: 8796093022207.999 },
      { cost: 1, dq: points },
      { cost: 9007199254740991, dq: points },
      { cost: 0.000000001, dq: nano },
      { cost: 8388607.999999999, dq: nano },
    ]
    for (const fields of costs) {
      const { status, body } = await create(fields)
      expect([status, body.cost]).toEqual([201, fields.cost])
    }
  })

  test('refuses a cost that is negative, finer than the smallest unit, or too large to count exactly', async () => {
    const { create, points, nano } = await prepared()
    const costs = [
      { cost: -0.001 },
      { cost: 0.0001 },
      { cost: 0.1 + 0.2 },
      { cost: 1e300 },
      { cost: 9007199254740.992 },
      // 9007199254740.99 and 9007199254740.991 are one and the same JSON number.
      { cost: 9007199254740.991 },
      { cost: 0.5, dq: points },
      { cost: 9007199254740992, dq: points },
      { cost: 1e-10, dq: nano },
    ]
    for (const fields of costs) expectProblem(await create(fields), 400, 'amount_invalid')
  })

  test('refuses a cost that is not a number', async () => {
    const { call, seller, order, create } = await prepared()
    for (const cost of ['0.25', null, {}, undefined]) {
      const refused = await create({ cost })
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe('cost')
    }
    const raw = JSON.stringify(order).replace('0.25', '1e400')
    const headers = { 'content-type': 'application/json' }
    expectProblem(await call('POST', '/v4/commodity', { token: seller.token, raw, headers }), 400, 'field_invalid')
  })

  test('refuses the twin of someone else like an absent one', async () => {
    const { call, create } = await prepared()
    const others = await newTwin(call, (await newSeller(call)).token)
    const refused = await create({ twin_id: others.id })
    expectProblem(refused, 400, 'twin_unknown')
    expect((await create({ twin_id: 999999 })).text).toBe(refused.text)
    expectProblem(await create({ twin_id: 1 }), 400, 'twin_unknown')
    for (const twin_id of ['1', 1.5, null]) expectProblem(await create({ twin_id }), 400, 'field_invalid')
  })

  test('refuses an unknown digital quantity, and a descriptor that is empty or longer than 255 characters', async () => {
    const { create } = await prepared()
    expectProblem(await create({ dq: UNKNOWN_DQ }), 400, 'dq_unknown')
    for (const descriptor of ['', 'A'.repeat(256), 7, null]) {
      const refused = await create({ descriptor })
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe('descriptor')
    }
    expect((await create({ descriptor: 'A'.repeat(255) })).status).toBe(201)
  })

  test('lets only accounts sell', async () => {
    const { call, seller, order } = await prepared()
    const { token } = await newPayer(call, seller)
    expectProblem(await call('POST', '/v4/commodity', { token, body: order }), 403, 'not_an_account')
  })

  test('creates one commodity for two requests with one Idempotency-Key', async () => {
    const { call, seller, create } = await prepared()
    const headers = { 'idempotency-key': 'article 1' }
    const [first, again] = [await create({}, headers), await create({}, headers)]
    expect(again.body).toEqual(first.body)
    expect([first, again].map((answer) => answer.headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect((await call('GET', '/v4/commodities', { token: seller.token })).body.commodities).toHaveLength(1)
    expectProblem(await create({ cost: 0.5 }, headers), 422, 'idempotency_mismatch')
    expectProblem(await create({}, { 'idempotency-key': 'x'.repeat(256) }), 400, 'idempotency_key_invalid')
  })

  test('stores nothing of a refused request', async () => {
    const { state, create } = await prepared()
    const before = (await state()).rows
    for (const fields of [{ twin_id: 999999 }, { dq: UNKNOWN_DQ }, { cost: -1 }, { descriptor: '' }])
      await create(fields)
    expect((await state()).rows).toEqual(before)
  })
})

contract('readCommodity', (start) => {
  for (const version of ['v4', 'v2'])
    test(`shows anyone the five fields, with embed=false and without it, under /${version}`, async () => {
      const { call } = await start()
      const { hash, dq, hostname } = await newCommodity(call, await newSeller(call), { cost: 0.25 })
      for (const query of ['', '?embed=false', '?theme=dark']) {
        const answer = await call('GET', `/${version}/commodity/${hash}${query}`, {
          headers: {
            'content-type': 'application/json',
            accept: 'application/json',
            origin: 'https://shop.example.test',
          },
        })
        expect(answer.status).toBe(200)
        expect(answer.body).toEqual({ hash, descriptor: 'NEWS.ARTICLE', dq, cost: 0.25, hostname })
        expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example.test')
      }
    })

  test('adds the HTML of a payment button with embed=true', async () => {
    const { call, url } = await start()
    const { hash, ...commodity } = await newCommodity(call, await newSeller(call))
    const { embed, ...fields } = (await call('GET', `/v4/commodity/${hash}?embed=true`)).body
    expect(fields).toMatchObject({ hash, dq: commodity.dq, cost: commodity.cost, hostname: commodity.hostname })
    expect(embed).toMatch(/^<iframe [^<>]*><\/iframe>$/)
    expect(embed).toContain(`src="${url}/v4/embed/${hash}"`)
    expect(embed).toContain('allow="payment *"')
    expectProblem(await call('GET', `/v4/commodity/${hash}?embed=maybe`), 400, 'field_invalid')
  })

  test('may be cached, but must be revalidated', async () => {
    const { call } = await start()
    const { hash } = await newCommodity(call, await newSeller(call))
    expect((await call('GET', `/v4/commodity/${hash}`)).headers.get('cache-control')).toBe('no-cache')
  })

  test('finds nothing under an unknown hash', async () => {
    const { call } = await start()
    for (const hash of [UNKNOWN_COMMODITY, 'article', '1', '__proto__'])
      expectProblem(await call('GET', `/v4/commodity/${hash}`), 404, 'not_found')
    expectProblem(await call('GET', '/v2/commodity/%E0%A4%A'), 400, 'path_malformed')
  })
})

contract('listCommodities', (start) => {
  test("lists the caller's own, newest first, page by page", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    await newCommodity(call, await newSeller(call))
    const { body: none } = await call('GET', '/v4/commodities', { token: seller.token })
    expect(none).toEqual({ commodities: [], next: null })
    const hashes = []
    for (let n = 0; n < 5; n++) hashes.unshift((await newCommodity(call, seller)).hash)
    const pages = await readPages(call, '/v4/commodities', { plural: 'commodities', token: seller.token, limit: 2 })
    expect(pages.map((page) => page.map(({ hash }) => hash))).toEqual([
      hashes.slice(0, 2),
      hashes.slice(2, 4),
      hashes.slice(4),
    ])
    const [[first]] = pages as [[object]]
    expect(Object.keys(first).sort()).toEqual(['cost', 'descriptor', 'dq', 'hash', 'hostname'])
  })

  test('returns 20 by default, or a limit from 1 to 100', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const dq = await defaultDq(call)
    const { id } = await newTwin(call, seller.token)
    const body = { descriptor: 'A', dq, cost: 1, twin_id: id }
    for (let n = 0; n < 21; n++) await call('POST', '/v4/commodity', { token: seller.token, body })
    const count = async (query: string) =>
      (await call('GET', `/v4/commodities${query}`, { token: seller.token })).body.commodities.length
    expect([await count(''), await count('?limit=1'), await count('?limit=100')]).toEqual([20, 1, 21])
    for (const limit of [0, 101, -1, 'all'])
      expectProblem(await call('GET', `/v4/commodities?limit=${limit}`, { token: seller.token }), 400, 'field_invalid')
  })

  test('refuses cursors that are unknown or of someone else', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const others = await newCommodity(call, await newSeller(call))
    for (const after of [UNKNOWN_COMMODITY, others.hash, ''])
      expectProblem(await call('GET', `/v4/commodities?after=${after}`, { token: seller.token }), 400, 'cursor_invalid')
  })
})
