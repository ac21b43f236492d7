import { describe, expect, it } from 'vitest'
import { createService } from '../../../src/index.js'
import { type CallOptions, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { settledRows } from '../../support/contract/settled.js'
import { expectProblem } from '../../support/scenes/market.js'
import { askCode, mailedCode, newGuest } from '../../support/scenes/sign-in.js'
import { newCommodity, newSeller, newSession, newUser } from '../../support/scenes/world.js'

const EMAIL = 'ada@example.test'
const FOREIGN = 'https://shop.example.test'

const cookie = (session: string) => ({ cookie: `session_id=${session}` })

contract('a session', (start) => {
  it('is a header or a cookie, and every answer repeats it in X-Session-ID', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, made: session } = await startWith(start, newSession, EMAIL)
    const ways: CallOptions[] = [
      { session },
      { headers: cookie(session) },
      { headers: { cookie: `theme=dark; session_id=${session}; a=b` } },
      { session, headers: cookie(session) },
    ]
    for (const options of ways)
      for (const path of ['/v4/session', '/v4/twins', '/v4/payments', '/v4/payments/999999']) {
        const { headers } = await call('GET', path, options)
        expect(headers.get('x-session-id'), path).toBe(session)
      }
  })

  it('is repeated in every refusal too', { tags: 'everywhere' }, async () => {
    const { call, made: session } = await startWith(start, newGuest)
    const json = { 'content-type': 'application/json' }
    const refused = [
      await call('GET', '/v4/twins', { session }),
      await call('GET', '/v4/twins', { headers: cookie(session) }),
      await call('POST', '/v4/session/code', { session, raw: '{', headers: json }),
      await call('POST', '/v4/session/code', { session, body: {} }),
      await call('POST', '/v4/session/verify', { session, body: { email: EMAIL, code: '000000' } }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 400, 400, 401])
    expect(refused.map(({ headers }) => headers.get('x-session-id'))).toEqual(refused.map(() => session))
  })

  it('is never repeated if it is invalid', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    for (const session of ['<script>', `ms_${'0'.repeat(31)}`, `ms_${'0'.repeat(32)}, ms_${'1'.repeat(32)}`]) {
      const answer = await call('GET', '/v4/twins', { session })
      expectProblem(answer, 401, 'sign_in_required')
      expect(answer.headers.get('x-session-id')).toBeNull()
      expect((await call('GET', '/v4/session', { session })).headers.get('x-session-id')).not.toBe(session)
    }
  })

  it('is 401 if cookie and header disagree, and nothing happens', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const [one, other] = [await newSession(call, EMAIL), await newSession(call, 'eve@example.test')]
    const both = { session: one, headers: cookie(other) }
    for (const path of ['/v4/session', '/v4/twins'])
      expectProblem(await call('GET', path, both), 401, 'session_conflict')
    expectProblem(await call('DELETE', '/v4/session', both), 401, 'session_conflict')
    for (const session of [one, other]) expect((await call('GET', '/v4/twins', { session })).status).toBe(200)
  })

  it('loses to an access token', { tags: 'everywhere' }, async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, EMAIL)
    const { body, headers } = await call('GET', '/v4/twins', { token: payer.token, session })
    expect(body.twins[0].hostname).toBe(payer.hostname)
    expect(headers.get('x-session-id')).toBeNull()
    const wrong = await call('GET', '/v4/twins', { token: `tqmt_${'0'.repeat(32)}`, session })
    expectProblem(wrong, 401, 'token_invalid')
  })
})

contract('a session cookie', (start) => {
  it("may change state in requests from the service's own origin", { tags: ['everywhere', 'pages'] }, async () => {
    const { call, url, made: session } = await startWith(start, newSession, EMAIL)
    const headers = { ...cookie(session), origin: new URL(url).origin }
    expect((await call('DELETE', '/v4/session', { headers })).status).toBe(204)
    expect((await call('GET', '/v4/session', { session })).body.user).toBeNull()
  })

  const refusesChanges = async (from: Record<string, string>) => {
    const { call, state, made: seller } = await startWith(start, newSeller)
    const { hash } = await newCommodity(call, seller, { cost: 0 })
    const session = await newSession(call, EMAIL)
    const before = await settledRows(state)
    const headers = { ...cookie(session), ...from }
    expectProblem(await call('DELETE', '/v4/session', { headers }), 403, 'cross_site')
    expectProblem(await call('POST', '/v4/session/code', { headers, body: { email: EMAIL } }), 403, 'cross_site')
    const attempt = { headers, body: { email: EMAIL, code: '000000' } }
    expectProblem(await call('POST', '/v4/session/verify', attempt), 403, 'cross_site')
    expectProblem(await call('POST', `/v4/payment/${hash}`, { headers }), 403, 'cross_site')
    expect(await settledRows(state)).toEqual(before)
    expect((await call('GET', '/v4/twins', { session })).status).toBe(200)
  }

  it.each([
    ['another origin', FOREIGN],
    ['an origin that hides itself', 'null'],
  ])('changes nothing for requests from %s: 403', { tags: 'everywhere' }, (_, origin) => refusesChanges({ origin }))

  // A browser names the origin of each such request, so no page can leave it out.
  it('changes nothing for requests from nowhere that they say: 403', () => refusesChanges({}))

  it('of a different port, host or scheme belongs to a foreign origin', { tags: 'everywhere' }, async () => {
    const { call, url, made: session } = await startWith(start, newSession, EMAIL)
    const { port } = new URL(url)
    for (const origin of [
      `http://127.0.0.1:${Number(port) + 1}`,
      `http://localhost:${port}`,
      `https://127.0.0.1:${port}`,
      `${url}.example.test`,
    ])
      expectProblem(await call('DELETE', '/v4/session', { headers: { ...cookie(session), origin } }), 403, 'cross_site')
  })

  it('from a page at `localhost` to a service at `127.0.0.1` is refused with both names', async () => {
    const { call, url, made: session } = await startWith(start, newSession, EMAIL)
    const { port } = new URL(url)
    const origin = `http://localhost:${port}`
    const refused = await call('DELETE', '/v4/session', { headers: { ...cookie(session), origin } })
    expectProblem(refused, 403, 'cross_site')
    expect(refused.body.error).toContain(`The page is at ${origin}, the service at http://127.0.0.1:${port}: `)
    const foreign = await call('DELETE', '/v4/session', { headers: { ...cookie(session), origin: FOREIGN } })
    expect(foreign.body.error).not.toContain('localhost')
  })

  it('is not read for requests from another origin', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const { call, made: session } = await startWith(start, newSession, EMAIL)
    const headers = { ...cookie(session), origin: FOREIGN }
    const { body } = await call('GET', '/v4/session', { headers })
    expect(body.user).toBeNull()
    expect(body.session_id).not.toBe(session)
    const refused = await call('GET', '/v4/twins', { headers })
    expectProblem(refused, 401, 'authorization_missing')
    expect(refused.headers.get('x-session-id')).toBeNull()
  })

  it('is read when a page is opened: a GET without Origin', { tags: 'everywhere' }, async () => {
    const { call, made: session } = await startWith(start, newSession, EMAIL)
    expect((await call('GET', '/v4/session', { headers: cookie(session) })).body.user.email).toBe(EMAIL)
  })

  it("does not conflict with another origin's header", { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const [one, other] = [await newSession(call, EMAIL), await newSession(call, 'eve@example.test')]
    const both = { session: one, headers: { ...cookie(other), origin: FOREIGN } }
    expect((await call('GET', '/v4/session', both)).body.user.email).toBe(EMAIL)
    expect((await call('DELETE', '/v4/session', both)).status).toBe(204)
    expect((await call('GET', '/v4/session', { session: other })).body.user.email).toBe('eve@example.test')
  })
})

contract('a session header', (start) => {
  it('works from every origin: a foreign page signs in, reads and signs out', {
    tags: ['everywhere', 'pages'],
  }, async () => {
    const { call } = await start()
    const headers = { origin: FOREIGN }
    const guest = (await call('GET', '/v4/session', { headers })).body.session_id
    await call('POST', '/v4/session/code', { session: guest, headers, body: { email: EMAIL } })
    const body = { email: EMAIL, code: await mailedCode(call, EMAIL) }
    const session = (await call('POST', '/v4/session/verify', { session: guest, headers, body })).body.session_id
    expect((await call('GET', '/v4/twins', { session, headers })).status).toBe(200)
    expect((await call('DELETE', '/v4/session', { session, headers })).status).toBe(204)
  })

  it('sets no cookie for another origin, which could sign its visitor in as its own user', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const headers = { origin: FOREIGN }
    const issued = await call('GET', '/v4/session', { headers })
    expect(issued.headers.get('set-cookie')).toBeNull()
    const session = issued.body.session_id
    await askCode(call, session, EMAIL)
    const body = { email: EMAIL, code: await mailedCode(call, EMAIL) }
    const signedIn = await call('POST', '/v4/session/verify', { session, headers, body })
    expect(signedIn.status).toBe(200)
    expect(signedIn.headers.get('set-cookie')).toBeNull()
    const signedOut = await call('DELETE', '/v4/session', { session: signedIn.body.session_id, headers })
    expect(signedOut.headers.get('set-cookie')).toBeNull()
  })
})

describe('over https', () => {
  it("the session cookie is Secure, and the service's origin is the requested one", async () => {
    const baseUrl = 'https://pay.example.test'
    const service = createService({ baseUrl, sandbox: true })
    // As behind a proxy that speaks plain HTTP to the service.
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
    const { headers, body } = await call('GET', '/v4/session')
    expect(headers.get('set-cookie')).toBe(`session_id=${body.session_id}; Path=/; HttpOnly; SameSite=Lax; Secure`)
    const own = { ...cookie(body.session_id), origin: baseUrl }
    expect((await call('DELETE', '/v4/session', { headers: own })).status).toBe(204)
    const plain = { ...cookie(body.session_id), origin: 'http://pay.example.test' }
    expectProblem(await call('DELETE', '/v4/session', { headers: plain }), 403, 'cross_site')
  })
})
