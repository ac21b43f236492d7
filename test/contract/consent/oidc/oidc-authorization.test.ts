import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../../support/scenes/market.js'
import {
  authorization,
  authorizeApp,
  CALLBACK,
  CHALLENGE,
  claimsIn,
  exchangeCode,
  expectOAuthError,
  fill,
  locationOf,
  newAgent,
  newApp,
  newConfidentialApp,
  refusalAddress,
  returned,
  signInAt,
  startInteraction,
} from '../../../support/scenes/oidc.js'
import { newGuest } from '../../../support/scenes/sign-in.js'
import { newSession } from '../../../support/scenes/world.js'

const html = { accept: 'text/html,application/xhtml+xml' }

contract('authorizeOidc', (start) => {
  it('GET /v4/oidc/auth redirects a browser to the sign-in, and stores the request', async () => {
    const { call, url, made: app } = await startWith(start, newApp)
    const answer = await call('GET', authorization(app))
    expect(locationOf(answer).href).toMatch(new RegExp(`^${url}/v4/oidc/interaction/[0-9a-f]{32}$`))
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  it('POST takes the same request in a form, and reads no cookie', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start()
    const form = Object.fromEntries(new URLSearchParams(authorization(await newApp(call)).split('?')[1]))
    const headers = { origin: 'https://app.example.test', cookie: `session_id=${await newGuest(call)}` }
    const answer = await call('POST', '/v4/oidc/auth', { form, headers })
    expect(locationOf(answer).pathname).toMatch(/\/v4\/oidc\/interaction\/[0-9a-f]{32}$/)
  })

  it('does not redirect for an unknown client or address: people get a page, programs 400 invalid_request', {
    tags: ['everywhere', 'pages'],
  }, async () => {
    const { call, state, made: app } = await startWith(start, newApp)
    const wrongs: [string, Record<string, string | undefined>][] = [
      ['no client', { client_id: undefined }],
      ['an unknown client', { client_id: 'mid_0' }],
      ['no redirect URI', { redirect_uri: undefined }],
      ['another path', { redirect_uri: `${CALLBACK}/` }],
      ['a character more', { redirect_uri: `${CALLBACK}2` }],
      ['a character less', { redirect_uri: CALLBACK.slice(0, -1) }],
      ['another case', { redirect_uri: CALLBACK.replace('callback', 'Callback') }],
      ['another host', { redirect_uri: 'https://app.example.test.evil.test/callback' }],
      ['another scheme', { redirect_uri: CALLBACK.replace('https', 'http') }],
      ['a port', { redirect_uri: 'https://app.example.test:443/callback' }],
      ['a query', { redirect_uri: `${CALLBACK}?a=1` }],
      ['a fragment', { redirect_uri: `${CALLBACK}#a` }],
      ['an escape', { redirect_uri: CALLBACK.replace('callback', 'call%62ack') }],
    ]
    for (const [what, wrong] of wrongs) {
      const path = authorization(app, wrong)
      const form = Object.fromEntries(new URLSearchParams(path.split('?')[1]))
      for (const ask of [
        (headers = {}) => call('GET', path, { headers }),
        (headers = {}) => call('POST', '/v4/oidc/auth', { form, headers }),
      ]) {
        expectOAuthError(await ask(), 400, 'invalid_request')
        const page = await ask(html)
        expect([what, page.status, page.headers.get('location')]).toEqual([what, 400, null])
        expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
        expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
        expect(page.text).toContain('role="alert"')
      }
    }
    expect((await state()).rows.oidc_interactions ?? []).toEqual([])
  })

  it('fetches the metadata of clients from one host twenty times in a minute: 429 too_many_fetches', async () => {
    const { call } = await start()
    await stopClock(call)
    // Nothing listens there.
    const of = (name: string) => authorization({ id: `https://localhost:1/${name}` })
    for (let i = 0; i < 20; i++) expectOAuthError(await call('GET', of(`${i}`)), 400, 'invalid_request')
    const form = Object.fromEntries(new URLSearchParams(of('last').split('?')[1]))
    for (const answer of [await call('GET', of('last')), await call('POST', '/v4/oidc/auth', { form })]) {
      expectOAuthError(answer, 429, 'temporarily_unavailable')
      expectProblem(answer, 429, 'too_many_fetches')
      expect(answer.headers.get('retry-after')).toBe('60')
    }
  })

  it('a repeated parameter is refused, on a page', async () => {
    const { call } = await start()
    const path = `${authorization(await newApp(call))}&state=other`
    expectOAuthError(await call('GET', path), 400, 'invalid_request')
    expect((await call('GET', path, { headers: html })).text).toContain('&quot;state&quot; is given more than once')
  })

  it('redirects any other error to a connected client, with its state and the issuer', async () => {
    const { call, url, made: app } = await startWith(start, newApp, { scope: 'openid email' })
    const { session } = await authorizeApp(call, app, { scope: 'openid' })
    const wrongs: [Record<string, string | undefined>, string][] = [
      [{ response_type: undefined }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: 'id_token' }, 'unsupported_response_type'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ response_mode: 'fragment' }, 'invalid_request'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ code_challenge: `${CHALLENGE}A` }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ prompt: 'create' }, 'invalid_request'],
      [{ max_age: '-1' }, 'invalid_request'],
      [{ max_age: 'soon' }, 'invalid_request'],
      [{ scope: 'admin' }, 'invalid_scope'],
      [{ scope: '' }, 'invalid_scope'],
      [{ scope: 'openid twin' }, 'invalid_scope'],
      [{ resource: 'https://other.example.test' }, 'invalid_target'],
      [{ resource: 'nonsense' }, 'invalid_target'],
      [{ id_token_hint: 'nonsense' }, 'invalid_request'],
      [{ request: 'e30.e30.' }, 'request_not_supported'],
      [{ request_uri: 'https://app.example.test/request' }, 'request_uri_not_supported'],
      [{ registration: '{}' }, 'registration_not_supported'],
    ]
    for (const [wrong, error] of wrongs) {
      const path = await startInteraction(call, app, { scope: 'openid', state: 'a&b', ...wrong })
      const answer = await call('GET', path, { session })
      const location = locationOf(answer)
      expect(location.origin + location.pathname).toBe(CALLBACK)
      expect({ wrong, ...returned(answer) }).toMatchObject({ wrong, error, state: 'a&b', iss: `${url}/v4/oidc` })
    }
  })

  it('a confidential client needs PKCE only for an MCP server', async () => {
    const { call, url, made: app } = await startWith(start, newConfidentialApp)
    const { session } = await authorizeApp(call, app)
    const without = { code_challenge: undefined, code_challenge_method: undefined }
    for (const [asked, error] of [
      [without, undefined],
      [{ ...without, resource: url }, undefined],
      [{ ...without, resource: `${url}/mcp` }, 'invalid_request'],
      [{ ...without, resource: `${url}/mcp/1/` }, 'invalid_request'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge: '' }, 'invalid_request'],
    ] as const) {
      const answer = returned(await call('GET', await startInteraction(call, app, asked), { session }))
      expect([asked, answer.error]).toEqual([asked, error])
    }
  })

  it('keeps the query of a redirect URI, and adds no state to a request without one', {
    tags: 'everywhere',
  }, async () => {
    const { call, url } = await start()
    const uri = 'https://app.example.test/callback?tenant=a+b'
    const app = await newApp(call, { redirect_uris: [uri] })
    const asked = { redirect_uri: uri, state: undefined, prompt: 'create' }
    const { href, searchParams } = await refusalAddress(call, authorization(app, asked))
    expect(href.startsWith(`${uri}&error=invalid_request&`)).toBe(true)
    const back = Object.fromEntries(searchParams)
    expect(back).toMatchObject({ tenant: 'a b', iss: `${url}/v4/oidc` })
    expect(back).not.toHaveProperty('state')
  })

  it.each(['http://127.0.0.1', 'http://localhost', 'http://[::1]'])(
    'an app at %s may listen on any port',
    async (host) => {
      const { call, made: app } = await startWith(start, newApp, { redirect_uris: [`${host}:1234/callback`] })
      for (const redirect_uri of [`${host}:5678/callback`, `${host}/callback`])
        await startInteraction(call, app, { redirect_uri })
      for (const redirect_uri of [`${host}:5678/other`, `${host}:99999999/callback`, `${host}:1@evil.test/callback`])
        expectOAuthError(await call('GET', authorization(app, { redirect_uri })), 400, 'invalid_request')
    },
  )

  it('ignores unknown parameters and scopes', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app, { extra: '1', claims: '{}', scope: 'openid address email' })
    expect((await exchangeCode(call, app, code)).body.scope).toBe('openid email')
  })

  it('a request without a scope asks for all registered scopes', async () => {
    const { call, made: app } = await startWith(start, newApp, { scope: 'openid email' })
    const { code } = await authorizeApp(call, app, { scope: undefined })
    expect((await exchangeCode(call, app, code)).body.scope).toBe('openid email')
  })
})

contract('an authorization request of a signed-in user', (start) => {
  it('redirects back at once if the user allowed all of it before', async () => {
    const { call, url, made: agent } = await startWith(start, newAgent, { scope: 'openid email' })
    const path = await startInteraction(call, agent.app, { scope: 'openid' })
    const answer = await call('GET', path, { session: agent.session })
    expect(returned(answer)).toEqual({ code: expect.any(String), state: 'a state', iss: `${url}/v4/oidc` })
  })

  it('asks each time for native apps, which other programs can imitate, but not for web sites or clients with a secret', async () => {
    const { call } = await start()
    const local = 'http://127.0.0.1:5000/callback'
    const scheme = 'com.example.app:/callback'
    for (const [redirect_uri, token_endpoint_auth_method, asks] of [
      [local, 'none', true],
      [scheme, 'none', true],
      [local, 'client_secret_post', false],
      [CALLBACK, 'none', false],
    ] as const) {
      const app = await newApp(call, { redirect_uris: [redirect_uri], token_endpoint_auth_method })
      const { session } = await authorizeApp(call, app, { redirect_uri })
      const path = await startInteraction(call, app, { redirect_uri })
      expect([redirect_uri, (await call('GET', path, { session })).status]).toEqual([redirect_uri, asks ? 200 : 303])
      const silent = await startInteraction(call, app, { redirect_uri, prompt: 'none' })
      const answer = returned(await call('GET', silent, { session }))
      expect(answer).toMatchObject(asks ? { error: 'consent_required' } : { code: expect.any(String) })
    }
  })

  it('refuses values that are too long to send back', async () => {
    const { call } = await start()
    const path = authorization(await newApp(call), { state: 'x'.repeat(8193) })
    expectOAuthError(await call('GET', path), 400, 'invalid_request')
  })

  it('asks again for more scopes, and for fewer with prompt=consent', async () => {
    const { call, made: agent } = await startWith(start, newAgent, { scope: 'openid' })
    for (const more of [{ scope: 'openid email' }, { scope: 'openid', prompt: 'consent' }]) {
      const { status, text } = await call('GET', await startInteraction(call, agent.app, more), agent)
      expect(status).toBe(200)
      expect(text).toContain('>Allow</button>')
    }
  })

  it('prompt=none redirects back at once, with a code or with the missing step', async () => {
    const {
      call,
      made: { app, session },
    } = await startWith(start, newAgent, { scope: 'openid' })
    const asked = async (who: string, parameters: Record<string, string>) =>
      returned(
        await call('GET', await startInteraction(call, app, { prompt: 'none', ...parameters }), { session: who }),
      )
    expect(await asked(session, { scope: 'openid' })).toHaveProperty('code')
    expect(await asked(session, { scope: 'openid email' })).toMatchObject({ error: 'consent_required' })
    expect(await asked(await newGuest(call), { scope: 'openid' })).toMatchObject({ error: 'login_required' })
  })

  it.each(['login', 'select_account', 'login consent'])('prompt=%s makes the user sign in again', async (prompt) => {
    const { call } = await start()
    await stopClock(call)
    const { app, session, idToken } = await newAgent(call)
    await advance(call, '1m')
    const path = await startInteraction(call, app, { prompt })
    const shown = await call('GET', path, { session })
    expect(shown.text).toContain('name="email"')
    const { session: signedIn, answer } = await signInAt(call, path, 'ada@example.test', session)
    const last = prompt.includes('consent') ? await fill(call, path, signedIn, { answer: 'allow' }) : answer
    const { body } = await exchangeCode(call, app, returned(last).code as string)
    expect(claimsIn(body.id_token).auth_time).toBe(claimsIn(idToken).auth_time + 60)
  })

  it.each<[string, string, boolean]>([
    ['60', '60s', false],
    ['60', '61s', true],
    ['0', '0s', true],
    ['10000', '1h', false],
  ])('max_age=%s, %s after they signed in: signs in again: %s', async (max_age, later, again) => {
    const { call } = await start()
    await stopClock(call)
    const { app, session } = await newAgent(call)
    await advance(call, later)
    const shown = await call('GET', await startInteraction(call, app, { max_age }), { session })
    expect(shown.status).toBe(again ? 200 : 303)
    const silent = await call('GET', await startInteraction(call, app, { max_age, prompt: 'none' }), { session })
    expect(returned(silent)).toMatchObject(again ? { error: 'login_required' } : { code: expect.any(String) })
  })

  it('id_token_hint names the required user', async () => {
    const { call, made: ada } = await startWith(start, newAgent)
    const eve = await newSession(call, 'eve@example.test')
    const hinted = { id_token_hint: ada.idToken }
    const own = await startInteraction(call, ada.app, hinted)
    expect(returned(await call('GET', own, { session: ada.session }))).toHaveProperty('code')
    const silent = await startInteraction(call, ada.app, { ...hinted, prompt: 'none' })
    expect(returned(await call('GET', silent, { session: eve }))).toMatchObject({ error: 'login_required' })
    const path = await startInteraction(call, ada.app, hinted)
    expect((await call('GET', path, { session: eve })).text).toContain('value="ada@example.test"')
    const { answer } = await signInAt(call, path, 'eve@example.test', eve)
    expect(returned(answer)).toMatchObject({ error: 'login_required' })
  })

  it("refuses another client's id token as a hint", async () => {
    const {
      call,
      made: { idToken: id_token_hint, accessToken },
    } = await startWith(start, newAgent)
    for (const hint of [id_token_hint, accessToken]) {
      const { searchParams } = await refusalAddress(call, authorization(await newApp(call), { id_token_hint: hint }))
      expect(searchParams.get('error')).toBe('invalid_request')
    }
  })

  it('login_hint fills in the address', async () => {
    const { call } = await start()
    const path = await startInteraction(call, await newApp(call), { login_hint: '"><ada@example.test' })
    const { text } = await call('GET', path)
    expect(text).toContain('value="&quot;>&lt;ada@example.test"')
  })
})
