import { expect, test } from 'vitest'
import { routeList } from '../../../scripts/route-table.js'
import type { ProblemCode } from '../../../src/base/problem.js'
import { VERSION } from '../../../src/base/version.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newItem, putParameters } from '../../support/scenes/catalog.js'
import { makeCheckout } from '../../support/scenes/checkout.js'
import { expectProblem, expectSoundLedger, fund, pay, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller, newTwin, tokenFor } from '../../support/scenes/world.js'

const DAY = 86_400_000

contract('readHealth', (start) => {
  test('shows the version, the storage, the time and the mode of the clock', async () => {
    const { call } = await start({ evidence: 'observed' })
    const { status, body } = await call('GET', '/_sandbox/health')
    expect(status).toBe(200)
    expect(body).toEqual({
      ok: true,
      name: 'farthing',
      version: VERSION,
      storage: expect.stringMatching(/^(memory|file|indexeddb|postgres)$/),
      clock: { mode: 'real', now: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) },
      evidence: 'observed',
    })
  })
})

contract('resetSandbox', (start) => {
  const account = {
    name: 'News',
    client_id: `mid_${'a'.repeat(32)}`,
    client_secret: `mc_${'b'.repeat(32)}`,
    balance: 3,
  }
  const seed = {
    digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }],
    accounts: [account, { name: 'Other' }],
    users: [{ email: 'ada@example.test', balance: 10 }],
    twins: [{ user: 'ada@example.test', dq: 'PTS', balance: 5 }],
    commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
  }
  const withoutTimes = (rows: object) =>
    JSON.parse(JSON.stringify(rows, (key, value) => (/_at$|^at$/.test(key) ? 0 : value)))

  test('keeps the journal, and empties it if told', async () => {
    const { call } = await start()
    const { headers } = await call('GET', '/v4/dq')
    const isKept = async () => (await call('GET', `/_sandbox/requests/${headers.get('x-request-id')}`)).status === 200
    expect((await call('POST', '/_sandbox/reset')).status).toBe(204)
    expect((await call('POST', '/_sandbox/reset', { body: { clear_journal: false } })).status).toBe(204)
    expectProblem(await call('POST', '/_sandbox/reset', { body: { journal: true } }), 400, 'field_invalid')
    expect(await isKept()).toBe(true)
    expect((await call('POST', '/_sandbox/reset', { body: { clear_journal: true } })).status).toBe(204)
    expect(await isKept()).toBe(false)
    expect((await call('GET', '/_sandbox/requests')).body.requests).toEqual([])
    expect((await call('GET', '/v4/dq')).status).toBe(200)
    expect((await call('GET', '/_sandbox/requests')).body.requests).toHaveLength(1)
  })

  test('returns to the seed with the same ids, hashes, hostnames, keys and credentials', async () => {
    const { call, state } = await start({ seed })
    const token = async () => tokenFor(call, account.client_id, account.client_secret)
    const look = async () => {
      const options = { token: await token() }
      return [
        (await call('GET', '/v4/dq')).body,
        (await call('GET', '/v4/account', options)).body.secrets[0].public_secret,
        (await call('GET', '/v4/twins', options)).body,
        (await call('GET', '/v4/commodities', options)).body,
      ]
    }
    await call('POST', '/_sandbox/reset')
    const seeded = await state()
    const before = await look()
    const oldToken = await token()
    const seller = await newSeller(call)
    await newPayer(call, seller, { balance: 5 })
    await newCommodity(call, seller)
    await fund(call, before[2].twins[0].hostname, 1)
    await call('POST', '/_sandbox/clock', { body: { advance: '10m' } })

    expect((await call('POST', '/_sandbox/reset')).status).toBe(204)
    const after = await state()
    expect(after.counters).toEqual(seeded.counters)
    expect(withoutTimes(after.rows)).toEqual(withoutTimes(seeded.rows))
    expectProblem(await call('GET', '/v4/account', { token: oldToken }), 401, 'token_invalid')
    expect(await look()).toEqual(before)
    expect((await expectSoundLedger(call)).digital_quantities.map(({ issued }: any) => issued)).toEqual([13, 5])
  })

  test('tells what is due first, and runs it when the clock is set to it', { tags: ['everywhere'] }, async () => {
    const { call } = await start()
    const next = async () => (await call('GET', '/_sandbox/clock/next')).body.next
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    expect(await next()).toBeNull()
    const seller = await newSeller(call)
    const item = await newItem(call, seller)
    const { status, body } = await makeCheckout(call, { seller, item }, { arguments: { city: 'Oslo' } })
    expect(status).toBe(201)
    const due = await next()
    expect(due).toMatchObject({ kind: 'checkout_expires' })
    await call('POST', '/_sandbox/clock', { body: { set: due.at } })
    expectProblem(await call('GET', `/v4/checkout/${body.token}`), 410, 'checkout_expired')
    expect(await next()).toBeNull()
  })

  test('sets the clock to the real time, and keeps it stopped if it was', async () => {
    const { call } = await start()
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    await call('POST', '/_sandbox/clock', { body: { advance: '3d' } })
    await call('POST', '/_sandbox/reset')
    const { mode, now } = (await call('GET', '/_sandbox/clock')).body
    expect(mode).toBe('manual')
    expect(Math.abs(Date.parse(now) - Date.now())).toBeLessThan(DAY)
    await call('POST', '/_sandbox/clock', { body: { mode: 'real' } })
    await call('POST', '/_sandbox/clock', { body: { advance: '3d' } })
    await call('POST', '/_sandbox/reset')
    const again = (await call('GET', '/_sandbox/clock')).body
    expect(again.mode).toBe('real')
    expect(Math.abs(Date.parse(again.now) - Date.now())).toBeLessThan(DAY)
  })

  test('happens in one step, whatever else runs', async () => {
    const { call, state } = await start({ seed })
    await call('POST', '/_sandbox/reset')
    const seeded = withoutTimes((await state()).rows)
    const traffic = Array.from({ length: 30 }, async () => {
      const seller = (await call('POST', '/v4/account')).body
      const [, { client_id, client_secret }] = seller.secrets
      const { body } = await call('POST', '/v4/account/oauth/token', {
        headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
      })
      const dq = (await call('GET', '/v4/dq')).body.digital_quantities[0]
      const made = await call('POST', '/v4/twin', { token: body.access_token ?? 'none', body: { dq } })
      if (made.status === 201) await fund(call, made.body.hostname, 2)
      return made.status
    })
    const resets = Array.from({ length: 5 }, () => call('POST', '/_sandbox/reset'))
    expect((await Promise.all(resets)).map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
    expect(new Set([201, 401, ...(await Promise.all(traffic))]).size).toBe(2)
    await expectSoundLedger(call)
    await call('POST', '/_sandbox/reset')
    expect(withoutTimes((await state()).rows)).toEqual(seeded)
  })
})

contract('fundTwin', (start) => {
  test('issues value to a twin, by default in its own digital quantity', async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] } })
    const { token } = await newSeller(call)
    const { hostname } = await newTwin(call, token)
    const [dq, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    expect((await fund(call, hostname, 1.5)).body).toEqual({ hostname, dq, amount: 1.5, balance: 1.5 })
    expect((await fund(call, hostname, 0.001)).body).toEqual({ hostname, dq, amount: 0.001, balance: 1.501 })
    expect((await fund(call, hostname, 7, points)).body).toEqual({ hostname, dq: points, amount: 7, balance: 7 })
    expect(await balanceOf(call, token, hostname)).toBe(1.501)
  })

  test('issues value to a person by their email, in a twin that is made if it is missing', async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] } })
    const payer = await newPayer(call, await newSeller(call), { email: 'mia@example.test' })
    const [dq, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    const give = async (order: object) => (await call('POST', '/_sandbox/fund', { body: order })).body
    const first = await give({ email: 'MIA@example.test', amount: 1.5 })
    expect(first).toEqual({ hostname: payer.hostname, dq, amount: 1.5, balance: 1.5 })
    const made = await give({ email: 'mia@example.test', amount: 7, dq: points })
    expect(made).toEqual({ hostname: expect.not.stringContaining(payer.hostname), dq: points, amount: 7, balance: 7 })
    expect(await give({ email: 'mia@example.test', amount: 1, dq: points })).toEqual({ ...made, amount: 1, balance: 8 })
    const refuse = async (body: object, status: number, code: ProblemCode) =>
      expectProblem(await call('POST', '/_sandbox/fund', { body }), status, code)
    await refuse({ email: 'nobody@example.test', amount: 1 }, 404, 'not_found')
    await refuse({ email: 'mia@example.test', amount: 1, dq: UNKNOWN_DQ }, 400, 'dq_unknown')
    await refuse({ amount: 1 }, 400, 'field_invalid')
    await refuse({ email: 'mia@example.test', hostname: payer.hostname, amount: 1 }, 400, 'field_invalid')
    await expectSoundLedger(call)
  })

  test('issues no more than 2^53-1 smallest units of a digital quantity in all', async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] } })
    const { token } = await newSeller(call)
    const [first, second] = [await newTwin(call, token), await newTwin(call, token)]
    const points = (await call('GET', '/v4/dq')).body.digital_quantities[1]
    expect((await fund(call, first.hostname, 9007199254740990, points)).status).toBe(200)
    expectProblem(await fund(call, second.hostname, 2, points), 400, 'amount_invalid')
    expect((await fund(call, second.hostname, 1, points)).status).toBe(200)
    await expectSoundLedger(call)
  })

  test('refuses an unknown twin or digital quantity, and amounts that are zero, negative or too large', async () => {
    const { call, state } = await start()
    const { hostname, id } = await newTwin(call, (await newSeller(call)).token)
    const before = (await state()).rows
    expectProblem(await fund(call, 'nobody.twin.localhost', 1), 404, 'not_found')
    expectProblem(await fund(call, `${id}`, 1), 404, 'not_found')
    expectProblem(await fund(call, hostname, 1, UNKNOWN_DQ), 400, 'dq_unknown')
    for (const amount of [0, -1, 0.0001, 1e300])
      expectProblem(await fund(call, hostname, amount), 400, 'amount_invalid')
    for (const body of [{}, { hostname }, { amount: 1 }, { hostname, amount: '1' }, { hostname: 5, amount: 1 }])
      expectProblem(await call('POST', '/_sandbox/fund', { body }), 400, 'field_invalid')
    expect((await state()).rows).toEqual(before)
  })
})

contract('readClock and updateClock', (start) => {
  const T = Date.UTC(2033, 2, 4, 5, 6, 7, 89)

  async function prepared() {
    const { call } = await start()
    const change = (body: object) => call('POST', '/_sandbox/clock', { body })
    return { call, change, now: async () => (await call('GET', '/_sandbox/clock')).body }
  }

  test('stop, set and move the time for the whole service', async () => {
    const { call, change, now } = await prepared()
    expect((await change({ mode: 'manual' })).body.mode).toBe('manual')
    expect((await change({ set: new Date(T).toISOString() })).body).toEqual({
      mode: 'manual',
      now: new Date(T).toISOString(),
    })
    expect(await now()).toEqual({ mode: 'manual', now: new Date(T).toISOString() })
    expect((await call('GET', '/_sandbox/health')).body.clock).toEqual(await now())
    expect((await call('POST', '/v4/account')).body.created_at).toBe(`${Math.floor(T / 1000)}`)
  })

  test('take durations of days, hours, minutes, seconds and milliseconds, forth and back', async () => {
    const { change, now } = await prepared()
    await change({ mode: 'manual' })
    const steps: [string | number, number][] = [
      ['90s', 90_000],
      ['15m', 900_000],
      ['1h30m', 5_400_000],
      ['2d', 2 * DAY],
      ['250ms', 250],
      ['1.5s', 1500],
      [' 1m ', 60_000],
      [90, 90_000],
      [0.25, 250],
      ['-1h', -3_600_000],
      [-1, -1000],
      [0, 0],
    ]
    for (const [advance, ms] of steps) {
      await change({ set: new Date(T).toISOString() })
      expect((await change({ advance })).body.now).toBe(new Date(T + ms).toISOString())
      expect((await now()).now).toBe(new Date(T + ms).toISOString())
    }
  })

  test('take a time in seconds, digits or ISO 8601', async () => {
    const { change } = await prepared()
    await change({ mode: 'manual' })
    const seconds = Math.floor(T / 1000)
    for (const set of [
      seconds,
      `${seconds}`,
      '2033-03-04T05:06:07Z',
      '2033-03-04T06:06:07+01:00',
      '2033-03-04T05:06:07',
    ])
      expect((await change({ set })).body.now).toBe(new Date(seconds * 1000).toISOString())
    expect((await change({ set: '2033-03-04' })).body.now).toBe('2033-03-04T00:00:00.000Z')
  })

  test('let time run from a set moment in real mode', async () => {
    const { change, now } = await prepared()
    const { body } = await change({ set: new Date(T).toISOString() })
    expect(body.mode).toBe('real')
    await new Promise((resolve) => setTimeout(resolve, 15))
    const later = Date.parse((await now()).now)
    expect(later).toBeGreaterThanOrEqual(T + 10)
    expect(later).toBeLessThan(T + 60_000)
    const stopped = (await change({ mode: 'manual' })).body.now
    expect(Date.parse(stopped)).toBeGreaterThanOrEqual(later)
    expect(Date.parse((await change({ mode: 'real' })).body.now)).toBeGreaterThanOrEqual(Date.parse(stopped))
  })

  test('lose no step of many at once', async () => {
    const { change, now } = await prepared()
    await change({ mode: 'manual' })
    await change({ set: new Date(T).toISOString() })
    await Promise.all(Array.from({ length: 20 }, () => change({ advance: '1s' })))
    expect((await now()).now).toBe(new Date(T + 20_000).toISOString())
  })

  test('refuse invalid durations, times and modes, two changes at once, and times before 1970 or after 9999', async () => {
    const { change, now } = await prepared()
    await change({ mode: 'manual' })
    const before = await now()
    const refused: object[] = [
      {},
      { advance: '1h', mode: 'real' },
      { set: 0, advance: 1 },
      { advance: 'soon' },
      { advance: '' },
      { advance: '1' },
      { advance: '1 hour' },
      { advance: 1e300 },
      { advance: true },
      { advance: '-400000d' },
      { advance: '99999999999d' },
      { set: 'tomorrow' },
      { set: -1 },
      { set: 1.5 },
      { set: '2033-13-01' },
      { set: 253402300800000 },
      { set: '10000-01-01' },
      { mode: 'fast' },
      { mode: null },
    ]
    for (const body of refused) expectProblem(await change(body), 400, 'field_invalid')
    expect(await now()).toEqual(before)
    expect((await change({ set: 253402300799 })).body.now).toBe('9999-12-31T23:59:59.000Z')
    // Beyond that, a number counts milliseconds.
    expect((await change({ set: 253402300800 })).body.now).toBe('1978-01-11T21:31:40.800Z')
    expect((await change({ set: 0 })).body.now).toBe('1970-01-01T00:00:00.000Z')
  })
})

contract('auditLedger', (start) => {
  test('finds no error, and sums up issued value and holders', async () => {
    const { call } = await start()
    const dq = (await call('GET', '/v4/dq')).body.digital_quantities[0]
    expect(await expectSoundLedger(call)).toEqual({
      ok: true,
      broken: null,
      digital_quantities: [{ dq, issued: 0, balances: 0, held: 0 }],
      movements: 0,
    })
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: 1.001 })
    await pay(call, payer, await newCommodity(call, seller, { cost: 1 }))
    const { digital_quantities, movements } = await expectSoundLedger(call)
    expect(digital_quantities).toEqual([{ dq, issued: 1.001, balances: 1.001, held: 0 }])
    expect(movements).toBe(2)
  })
})

contract('readCoverage', (start) => {
  test('lists every operation with its grade, and counts its calls by version', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    await call('GET', '/v4/dq')
    await call('GET', '/v4/dq')
    await call('GET', '/v2/twins')
    const { status, body } = await call('GET', '/_sandbox/coverage')
    expect(status).toBe(200)
    expect(body.operations.map(({ operation_id }: any) => operation_id)).toEqual(routeList.map(({ id }) => id))
    const found = (id: string) => body.operations.find(({ operation_id }: any) => operation_id === id)
    expect(found('listDigitalQuantities')).toEqual({
      ...{ operation_id: 'listDigitalQuantities', method: 'GET', path: '/dq', evidence: 'documented', calls: 2 },
      versions: [{ version: 'v4', evidence: 'documented', calls: 2 }],
    })
    expect(found('listTwins')).toMatchObject({
      calls: 1,
      versions: [
        { version: 'v4', calls: 0 },
        { version: 'v2', calls: 1 },
      ],
    })
    expect(found('readCoverage')).toMatchObject({ evidence: 'designed', calls: 1, versions: [] })
    expect(body.called).toBe(3)
  })
})

contract('forgetEncryptionKey', (start) => {
  test('makes stored dispatch values unreadable, until they are entered again', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const item = await newItem(call, seller)
    const parameters = [{ kind: 'header', name: 'x-key', value: 'secret' }]
    await putParameters(call, seller, item, parameters)
    const read = async () => {
      const { body } = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
      return body.parameters.map(({ value, value_set }: any) => [value, value_set])
    }
    expect(await read()).toEqual([['secret', true]])
    expect((await call('POST', '/_sandbox/encryption-key/forget')).status).toBe(204)
    expect(await read()).toEqual([[null, false]])
    await putParameters(call, seller, item, parameters)
    expect(await read()).toEqual([['secret', true]])
    await call('POST', '/_sandbox/encryption-key/forget')
    expect(await read()).toEqual([[null, false]])
  })
})
