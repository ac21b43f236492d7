import { expect, it } from 'vitest'
import type { Answer, Call, CallOptions } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { settledRows } from '../../support/contract/settled.js'
import { advance, expectProblem, fund, readPages, stopClock } from '../../support/scenes/market.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../../support/scenes/sign-in.js'
import { defaultDq, newPayer, newSeller, newSession, newTwin, newUser, tokenFor } from '../../support/scenes/world.js'

const FOREIGN = 'https://shop.example.test'
const cookie = (session: string, origin?: string) => ({ cookie: `session_id=${session}`, ...(origin && { origin }) })

const sessionsOf = async (call: Call, caller: CallOptions) => (await call('GET', '/v4/sessions', caller)).body.sessions

contract('createSession', (start) => {
  it.each(['/v4/session', '/v3/session'])('POST %s signs the user of a token in', async (path) => {
    const { call } = await start()
    const at = await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    const { status, body, headers } = await call('POST', path, { token: payer.token })
    expect([status, body]).toEqual([
      201,
      { session_id: expect.stringMatching(/^ms_[0-9a-f]{32}$/), expires_at: at / 1000 + 86_400 },
    ])
    expect(headers.get('x-session-id')).toBe(body.session_id)
    expect(headers.get('set-cookie')).toContain(`session_id=${body.session_id};`)
    const { user } = (await call('GET', '/v4/session', { session: body.session_id })).body
    expect(user.id).toBe(payer.id)
  })

  it('sets no cookie for another origin', { tags: 'everywhere' }, async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const { status, body, headers } = await call('POST', '/v4/session', {
      token: payer.token,
      headers: { origin: FOREIGN },
    })
    expect(status).toBe(201)
    expect(headers.get('set-cookie')).toBeNull()
    expect(headers.get('x-session-id')).toBe(body.session_id)
  })

  it('creates a new one each time, and keeps the earlier ones', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const make = async () => (await call('POST', '/v4/session', { token: payer.token })).body.session_id
    const [one, other] = [await make(), await make()]
    expect(one).not.toBe(other)
    for (const session of [one, other]) expect((await call('GET', '/v4/twins', { session })).status).toBe(200)
  })
})

contract('listSessions', (start) => {
  it("GET /v4/sessions lists the user's signed-in sessions and marks the caller's own", async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const payer = await newPayer(call, await newSeller(call))
    await newSession(call, 'eve@example.test')
    const first = await newSession(call, payer.email)
    await advance(call, '1h')
    const token = await tokenFor(call, payer.clientId, payer.clientSecret)
    const second = (await call('POST', '/v4/session', { token })).body.session_id
    const shown = (current: readonly boolean[]) => [
      {
        id: expect.any(Number),
        current: current[0],
        origin: null,
        created_at: at + 3600,
        expires_at: at + 3600 + 86_400,
      },
      {
        id: expect.any(Number),
        current: current[1],
        origin: null,
        created_at: at,
        expires_at: at + 86_400,
      },
    ]
    expect(await sessionsOf(call, { session: first })).toEqual(shown([false, true]))
    expect(await sessionsOf(call, { headers: cookie(second) })).toEqual(shown([true, false]))
    expect(await sessionsOf(call, { token })).toEqual(shown([false, false]))
  })

  it('shows no expired or signed-out sessions, and never their ids', async () => {
    const { call } = await start()
    await stopClock(call)
    const email = 'ada@example.test'
    const [first, second] = [await newSession(call, email), await newSession(call, email)]
    await call('DELETE', '/v4/session', { session: first })
    expect(await sessionsOf(call, { session: second })).toHaveLength(1)
    await advance(call, '23h')
    const third = await newSession(call, email)
    await advance(call, '1h')
    const answer = await call('GET', '/v4/sessions', { session: third })
    expect(answer.body.sessions).toHaveLength(1)
    for (const session of [first, second, third]) expect(answer.text).not.toContain(session)
  })

  it('has no further page after one that reaches the expired ones', async () => {
    const { call } = await start()
    await stopClock(call)
    const email = 'ada@example.test'
    for (let n = 0; n < 2; n++) await newSession(call, email)
    await advance(call, '23h')
    const session = await newSession(call, email)
    await advance(call, '1h')
    const { body } = await call('GET', '/v4/sessions?limit=2', { session })
    expect([body.sessions.length, body.next]).toEqual([1, null])
  })

  it('pages through them, newest first', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    for (let n = 0; n < 3; n++) await call('POST', '/v4/session', { token: payer.token })
    const pages = await readPages(call, '/v4/sessions', { plural: 'sessions', token: payer.token, limit: 2 })
    expect(pages.map((page) => page.length)).toEqual([2, 1])
    const ids = pages.flat().map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
    expectProblem(await call('GET', '/v4/sessions?after=999999', { token: payer.token }), 400, 'cursor_invalid')
  })
})

contract('deleteSessionById', (start) => {
  it('DELETE /v4/sessions/:id signs another session of the user out', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const [one, other] = [await newSession(call, payer.email), await newSession(call, payer.email)]
    const list: { id: number; current: boolean }[] = await sessionsOf(call, { session: one })
    const id = list.find(({ current }) => !current)?.id
    const { status, text, headers } = await call('DELETE', `/v4/sessions/${id}`, { session: one })
    expect([status, text, headers.get('set-cookie')]).toEqual([204, '', null])
    expectProblem(await call('GET', '/v4/twins', { session: other }), 401, 'sign_in_required')
    expectProblem(await call('DELETE', `/v4/sessions/${id}`, { session: one }), 404, 'not_found')
    const [own] = await sessionsOf(call, payer)
    expect((await call('DELETE', `/v4/sessions/${own.id}`, { token: payer.token })).status).toBe(204)
    expectProblem(await call('GET', '/v4/twins', { session: one }), 401, 'sign_in_required')
  })

  it("signs out the caller's own like DELETE /v4/session", { tags: 'everywhere' }, async () => {
    const { call, made: session } = await startWith(start, newSession, 'ada@example.test')
    const [{ id }] = await sessionsOf(call, { session })
    const { status, headers } = await call('DELETE', `/v4/sessions/${id}`, { session })
    expect(status).toBe(204)
    expect(headers.get('set-cookie')).toMatch(/^session_id=; Max-Age=0;/)
    expect(headers.get('x-session-id')).toBeNull()
  })

  it("another user's, an unknown and an expired one are 404", async () => {
    const { call } = await start()
    await stopClock(call)
    const [ada, eve] = [await newSession(call, 'ada@example.test'), await newSession(call, 'eve@example.test')]
    const [{ id }] = await sessionsOf(call, { session: ada })
    const anothers = await call('DELETE', `/v4/sessions/${id}`, { session: eve })
    expectProblem(anothers, 404, 'not_found')
    expect(anothers.text).toBe((await call('DELETE', '/v4/sessions/999999', { session: eve })).text)
    expect((await call('GET', '/v4/twins', { session: ada })).status).toBe(200)
    const later = await advance(call, '23h')
    expect(later.status).toBe(200)
    const next = await newSession(call, 'eve@example.test')
    const [first] = (await sessionsOf(call, { session: next })).slice(-1)
    await advance(call, '1h')
    expectProblem(await call('DELETE', `/v4/sessions/${first.id}`, { session: next }), 404, 'not_found')
  })
})

contract("a user's log", (start) => {
  it('records sign-ins, failures and sign-outs', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const guest = await newGuest(call)
    await askCode(call, guest, payer.email)
    const code = await mailedCode(call, payer.email)
    await verify(call, guest, payer.email, wrongCode(code))
    const session = (await verify(call, guest, payer.email, code)).body.session_id
    await call('POST', '/v4/session', { token: payer.token })
    await call('DELETE', '/v4/session', { session })
    const { events } = (await call('GET', '/v4/events', { token: payer.token })).body
    const told = events.filter(({ type }: { type: string }) => type.startsWith('sign_'))
    const about = (n: number) => told[told.length - 1 - n]
    expect(told.map(({ type, actor, data }: any) => [type, actor, data])).toEqual([
      ['sign_out', `user:${payer.id}`, {}],
      ['sign_in', `user:${payer.id}`, { by: 'token' }],
      ['sign_in', `user:${payer.id}`, { by: 'code' }],
      ['sign_in_failed', 'service', {}],
    ])
    expect(about(1).subject).toMatch(/^session:\d+$/)
    expect(about(3).subject).toBe(about(1).subject)
  })

  it('records no sign-out of a session that had expired', async () => {
    const { call } = await start()
    await stopClock(call)
    const email = 'ada@example.test'
    const session = await newSession(call, email)
    await advance(call, '24h')
    await call('DELETE', '/v4/session', { session })
    const { events } = (await call('GET', '/v4/events?type=sign_out', { session: await newSession(call, email) })).body
    expect(events).toEqual([])
  })

  it('records only failures that counted, and an unknown email has no log', async () => {
    const { call, state, made: payer } = await startWith(start, newUser)
    for (const email of [payer.email, 'nobody@example.test']) {
      const guest = await newGuest(call)
      await verify(call, guest, email, '000000')
      await askCode(call, guest, email)
      const wrong = wrongCode(await mailedCode(call, email))
      for (let n = 0; n < 7; n++) await verify(call, guest, email, wrong)
    }
    const told = ((await state()).rows.events ?? []).filter((row: any) => row.type === 'sign_in_failed')
    expect(told.map((row: any) => row.owner)).toEqual(Array(5).fill(`user:${payer.id}`))
  })
})

/** What a user does with their twins, and the status that is the answer. */
const asUser: readonly [string, number, (call: Call, hostname: string, as: CallOptions) => Promise<Answer>][] = [
  ['createTwin', 201, async (call, _, as) => call('POST', '/v4/twin', { ...as, body: { dq: await defaultDq(call) } })],
  ['readTwin', 200, (call, hostname, as) => call('GET', `/v4/twin/${hostname}`, as)],
  ['listTwins', 200, (call, _, as) => call('GET', '/v4/twins', as)],
  ['readBinder', 200, (call, hostname, as) => call('GET', `/v4/twin/${hostname}/binder`, as)],
  ['readInventory', 200, (call, hostname, as) => call('GET', `/v4/twin/${hostname}/inventory`, as)],
  ['createTwinNonce', 201, (call, hostname, as) => call('POST', '/v2/twin/nonce', { ...as, body: { hostname } })],
]
const changing = asUser.filter(([id]) => id.startsWith('create'))

contract('a signed-in session counts as its user', (start) => {
  it('by header and by cookie', { tags: 'everywhere' }, async () => {
    const { call, url, made: payer } = await startWith(start, newUser, { balance: 1 })
    const session = await newSession(call, payer.email)
    const origin = new URL(url).origin
    for (const [id, status, act] of asUser)
      for (const as of [{ session }, { headers: cookie(session, origin) }, { token: payer.token }]) {
        const answer = await act(call, payer.hostname, as)
        expect([id, answer.status]).toEqual([id, status])
      }
  })

  it("sees and changes nothing of another's", async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, 'eve@example.test')
    for (const [id, , act] of asUser)
      if (['createTwin', 'listTwins'].includes(id)) {
        await act(call, payer.hostname, { session })
        expect((await call('GET', '/v4/twins', { token: payer.token })).body.twins, id).toHaveLength(1)
      } else expectProblem(await act(call, payer.hostname, { session }), 403, 'not_owner')
  })

  it('changes nothing by a cookie for another origin, or for none', { tags: 'everywhere' }, async () => {
    const { call, state, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, payer.email)
    for (const [id, status, act] of changing) {
      const before = await settledRows(state)
      for (const origin of [FOREIGN, 'null', undefined])
        expectProblem(await act(call, payer.hostname, { headers: cookie(session, origin) }), 403, 'cross_site')
      expect(await settledRows(state)).toEqual(before)
      const header = { session, headers: { origin: FOREIGN } }
      expect([id, (await act(call, payer.hostname, header)).status]).toEqual([id, status])
    }
  })

  it('verifyTwinNonce: it spends a nonce, as any principal does', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, payer.email)
    const { nonce, hostname } = (
      await call('POST', '/v2/twin/nonce', { token: payer.token, body: { hostname: payer.hostname } })
    ).body
    const spend = () => call('PUT', '/v2/twin/nonce', { session, body: { hostname, nonce } })
    expect((await spend()).body).toEqual({ valid: true, hostname })
    expectProblem(await spend(), 400, 'twin_nonce_refused')
  })

  it('readTwin: a cookie is not read for another origin', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, payer.email)
    const headers = cookie(session, FOREIGN)
    expectProblem(await call('GET', `/v4/twin/${payer.hostname}`, { headers }), 401, 'authorization_missing')
  })
})

contract('readTwin, asked with a public_secret', (start) => {
  it('shows a page its own account, whoever is signed in: the cookie that comes with it counts for nothing', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const twin = await newTwin(call, seller.token)
    const payer = await newPayer(call, seller)
    const session = await newSession(call, payer.email)
    await fund(call, twin.hostname, 2)
    const ask = (hostname: string, options: CallOptions) =>
      call('GET', `/v4/twin/${hostname}?public_secret=${seller.publicSecret}`, options)
    const page = await ask(twin.hostname, { headers: cookie(session) })
    expect(page.body).toMatchObject({ hostname: twin.hostname, key: null })
    expectProblem(await ask(payer.hostname, { headers: cookie(session) }), 403, 'not_owner')
    const wrong = await call('GET', `/v4/twin/${payer.hostname}?public_secret=mp_0`, { headers: cookie(session) })
    expectProblem(wrong, 401, 'public_secret_unknown')
  })

  it('and an X-Session-ID, which no browser adds by itself, counts before it', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller)
    const session = await newSession(call, payer.email)
    const path = `/v4/twin/${payer.hostname}?public_secret=${seller.publicSecret}`
    const { status, body } = await call('GET', path, { session })
    expect([status, body.key]).toEqual([200, expect.any(String)])
  })
})
