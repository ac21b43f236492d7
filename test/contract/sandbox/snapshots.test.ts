import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { type ProblemCode, SCHEMA } from '../../../src/index.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller, newSession, tokenFor } from '../../support/scenes/world.js'

contract('a snapshot', (start) => {
  /** A market that sold something, at a time of its own. */
  async function used() {
    const running = await start()
    const { call } = running
    const seller = await newSeller(call)
    const commodity = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const session = await newSession(call, payer.email)
    expect((await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token })).status).toBe(202)
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    await call('POST', '/_sandbox/clock', { body: { advance: '2h' } })
    return { ...running, seller, payer, session }
  }

  const take = async ({ call }: Awaited<ReturnType<typeof start>>) => (await call('GET', '/_sandbox/snapshot')).text

  test('is the whole state, with credentials, sessions, secrets and time, and another service can continue from it', {
    tags: 'everywhere',
  }, async () => {
    const first = await used()
    const snapshot = await take(first)
    expect(JSON.parse(snapshot)).toEqual(await first.state())
    const second = await start({ seed: { accounts: [{ name: 'Other' }] } })
    expect((await second.call('PUT', '/_sandbox/snapshot', { body: JSON.parse(snapshot) })).status).toBe(204)
    expect(await take(second)).toBe(snapshot)

    const { payer, seller, session } = first
    const clocks = await Promise.all([first, second].map(({ call }) => call('GET', '/_sandbox/clock')))
    expect(clocks[1]?.body).toEqual(clocks[0]?.body)
    // Nothing in the middle expired: two hours on by the same clock, tokens are as old in both.
    const mine = async ({ call }: typeof second) => {
      const token = await tokenFor(call, payer.clientId, payer.clientSecret)
      const { body } = await call('GET', `/v4/user/${payer.id}?email=${payer.email}`, { token })
      return { secret: body.secrets[0].client_secret, balance: await balanceOf(call, token, payer.hostname) }
    }
    expect(await mine(second)).toEqual({ secret: payer.clientSecret, balance: 4.75 })
    expect((await second.call('GET', '/v4/session', { session })).body.user.email).toBe(payer.email)
    expect(await tokenFor(second.call, seller.clientId, seller.clientSecret)).toMatch(/^tqmt_/)
    await expectSoundLedger(second.call)
  })

  test('is accepted at any size, and replaces the whole state', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start({ limits: { bodyBytes: 2000 } })
    const empty = (await call('GET', '/_sandbox/snapshot')).body
    const seller = await newSeller(call)
    for (let at = 0; at < 8; at++) await newPayer(call, seller)
    const full = (await call('GET', '/_sandbox/snapshot')).body
    expect(JSON.stringify(full).length).toBeGreaterThan(2000)
    expect((await call('PUT', '/_sandbox/snapshot', { body: empty })).status).toBe(204)
    expectProblem(await call('GET', '/v4/account', { token: seller.token }), 401, 'token_invalid')
    expect((await call('PUT', '/_sandbox/snapshot', { body: full })).status).toBe(204)
    expect((await call('GET', '/v4/account', { token: seller.token })).status).toBe(200)
  })

  test('that is invalid is refused, and nothing changes', async () => {
    const running = await used()
    const before = await take(running)
    const refused: [number, ProblemCode, object][] = [
      [400, 'field_invalid', {}],
      [400, 'field_invalid', { counters: {}, rows: [] }],
      [400, 'field_invalid', { counters: { twins: 'many' }, rows: {} }],
      [400, 'snapshot_invalid', { counters: { twins: -1 }, rows: {} }],
      [422, 'snapshot_refused', { counters: {}, rows: { twins: [{}] } }],
      [422, 'snapshot_refused', { counters: {}, rows: { twins: [{ id: 1 }, { id: 1 }] } }],
    ]
    for (const [status, code, body] of refused)
      expectProblem(await running.call('PUT', '/_sandbox/snapshot', { body }), status, code)
    expect(await take(running)).toBe(before)
  })

  test('of an older release is migrated', async () => {
    const { call } = await start()
    const older = JSON.parse(await readFile(new URL('../../states/v1.json', import.meta.url), 'utf8'))
    expect(older.schema).toBeUndefined()
    expect((await call('PUT', '/_sandbox/snapshot', { body: older })).status).toBe(204)
    const { schema, rows } = (await call('GET', '/_sandbox/snapshot')).body
    expect(schema).toBe(SCHEMA)
    expect(rows.users).toHaveLength(older.rows.users.length)
    for (const user of rows.users) expect(user).toHaveProperty('email_verified_at')
    await expectSoundLedger(call)
  })

  test('of a newer release is refused by its number, and nothing changes', async () => {
    const running = await used()
    const before = await take(running)
    const newer = { ...JSON.parse(before), schema: SCHEMA + 5 }
    const refused = await running.call('PUT', '/_sandbox/snapshot', { body: newer })
    expectProblem(refused, 422, 'snapshot_newer')
    expect(refused.text).toContain(`schema ${SCHEMA + 5}, this one knows up to ${SCHEMA}`)
    expect(await take(running)).toBe(before)
  })

  test('that an older release wrote and that its migrations cannot read is refused, and nothing changes', async () => {
    const running = await used()
    const before = await take(running)
    const { schema: _, ...older } = JSON.parse(before)
    const broken: [object, RegExp][] = [
      [{ users: [null] }, /row number 1 has no id/],
      [{ users: [{ id: 1 }, { id: 1 }] }, /another row has this id/],
      [
        {
          outbox: [{ id: 1, kind: 'card', status: 'pending', purpose_id: 1 }],
          payments: [{ id: 1, status: 'pending', amount: 'x' }],
        },
        /cannot be migrated/,
      ],
    ]
    for (const [rows, why] of broken) {
      const body = { ...older, rows: { ...older.rows, ...rows } }
      const refused = await running.call('PUT', '/_sandbox/snapshot', { body })
      expectProblem(refused, 422, 'snapshot_refused')
      expect(refused.text).toMatch(why)
    }
    expect(await take(running)).toBe(before)
  })

  test('that is empty resets the service', async () => {
    const { call } = await used()
    expect((await call('PUT', '/_sandbox/snapshot', { body: { counters: {}, rows: {} } })).status).toBe(204)
    expect((await call('GET', '/v4/dq')).body.digital_quantities).toHaveLength(1)
    expect((await call('GET', '/_sandbox/clock')).body.mode).toBe('real')
    expect((await call('GET', '/_sandbox/snapshot')).body.rows.accounts).toBeUndefined()
  })
})
