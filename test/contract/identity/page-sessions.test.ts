import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { newCommodity, newPayer, newSeller, newSession } from '../../support/scenes/world.js'

const ORIGIN = 'https://shop.example.test'
const from = (origin: string) => ({ origin })

/** A seller's commodity, a reader signed in within its embed, and the session that the page around it got. */
async function embedded(call: Call) {
  const seller = await newSeller(call)
  const { hash, hostname } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  const own = await newSession(call, payer.email)
  const made = await call('POST', '/v4/session/page', { session: own, body: { hash, origin: ORIGIN } })
  return { hash, hostname, payer, own, made, page: made.body.session_id as string }
}

contract('createPageSession', (start) => {
  it('POST /v4/session/page creates a session for the page around an embed, which can read itself', async () => {
    const { call } = await start()
    const { payer, own, made, page } = await embedded(call)
    expect([made.status, made.body]).toEqual([
      201,
      { session_id: expect.stringMatching(/^ms_[0-9a-f]{32}$/), expires_at: expect.any(Number) },
    ])
    expect(page).not.toBe(own)
    const seen = await call('GET', '/v4/session', { session: page, headers: from(ORIGIN) })
    expect(seen.body).toMatchObject({ session_id: page, user: { id: payer.id } })
    expect(seen.headers.get('set-cookie')).toBeNull()
  })

  it('takes the origin of a page on plain HTTP too, and says in the log for which page it is', async () => {
    const { call } = await start()
    const { own, hash, payer } = await embedded(call)
    const origin = 'http://localhost:5173'
    const { status } = await call('POST', '/v4/session/page', { session: own, body: { hash, origin } })
    expect(status).toBe(201)
    const { events } = (await call('GET', '/v4/events?type=sign_in&limit=1', { token: payer.token })).body
    expect(events).toMatchObject([{ subject: expect.stringMatching(/^session:\d+$/), data: { by: 'page', origin } }])
  })

  it("a page session does nothing else in the user's name", async () => {
    const { call } = await start()
    const { page, hash, payer } = await embedded(call)
    const headers = from(ORIGIN)
    for (const [method, path, body] of [
      ['GET', '/v4/twins'],
      ['GET', '/v4/payments'],
      ['GET', '/v4/purchases'],
      ['GET', '/v4/purchases/1'],
      ['POST', '/v4/catalog/items/1/purchases', {}],
      ['GET', '/v4/sessions'],
      ['POST', `/v4/payment/${hash}`],
      ['POST', '/v4/session/page', { hash, origin: ORIGIN }],
      ['POST', '/v4/transfer', { address: 'guest@example.test', amount: 1 }],
      ['POST', '/v4/authentication-requests', { action: 'paywall', detail: {} }],
      ['POST', '/v4/notifications/registrations', { platform: 'web', token: 'token' }],
    ] as const)
      expectProblem(await call(method, path, { session: page, headers, ...(body && { body }) }), 403, 'wrong_principal')
    expect((await call('GET', '/v4/twins', { token: payer.token })).body.twins).toHaveLength(1)
  })

  it('refuses it to a page of another origin', { tags: ['everywhere', 'pages'] }, async () => {
    const { call } = await start()
    const { page } = await embedded(call)
    const headers = from('https://elsewhere.example.test')
    expectProblem(await call('GET', '/v4/session', { session: page, headers }), 401, 'page_refused')
  })

  it("is listed with its origin, and ends with the user's own session", async () => {
    const { call } = await start()
    const { own, page, payer } = await embedded(call)
    const { sessions } = (await call('GET', '/v4/sessions', { token: payer.token })).body
    expect(sessions.map(({ origin }: { origin: string | null }) => origin)).toEqual([ORIGIN, null])
    await call('DELETE', '/v4/session', { session: own })
    expect((await call('GET', '/v4/session', { session: page })).body.user).toBeNull()
    expect((await call('GET', '/v4/sessions', { token: payer.token })).body.sessions).toEqual([])
  })

  it('can be revoked alone, and ends after a day', async () => {
    const { call } = await start()
    const { own, page, payer } = await embedded(call)
    const [given] = (await call('GET', '/v4/sessions', { token: payer.token })).body.sessions
    await call('DELETE', `/v4/sessions/${given.id}`, { token: payer.token })
    expect((await call('GET', '/v4/session', { session: page })).body.user).toBeNull()
    expect((await call('GET', '/v4/session', { session: own })).body.user).not.toBeNull()
    const other = await embedded(call)
    await advance(call, '24h')
    expect((await call('GET', '/v4/session', { session: other.page })).body.user).toBeNull()
  })

  it.each([
    'shop.example.test',
    'https://shop.example.test/',
    'null',
    'javascript://shop',
    'https://u@shop.example.test',
  ])('refuses %s as an origin', async (origin) => {
    const { call } = await start()
    const { own, hash } = await embedded(call)
    const refused = await call('POST', '/v4/session/page', { session: own, body: { hash, origin } })
    expectProblem(refused, 400, 'field_invalid')
    expect(refused.body.field).toBe('origin')
  })

  it('refuses a commodity that nobody sells', async () => {
    const { call } = await start()
    const { own } = await embedded(call)
    const body = { hash: '00000000-0000-4000-8000-000000000000', origin: ORIGIN }
    expectProblem(await call('POST', '/v4/session/page', { session: own, body }), 404, 'not_found')
  })
})
