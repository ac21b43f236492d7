import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../../support/scenes/market.js'
import {
  ALL_SCOPES,
  asClient,
  authorizeApp,
  claimsIn,
  exchangeCode,
  expectOAuthError,
  headerOf,
  newAgent,
  newApp,
  newConfidentialApp,
  refreshWith,
  startInteraction,
  VERIFIER,
  worksAt,
} from '../../../support/scenes/oidc.js'
import { basic } from '../../../support/scenes/world.js'

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const REFRESH = /^tqmt_[0-9a-f]{32}$/

contract('createOidcToken', (start) => {
  it('POST /v4/oidc/token exchanges a code for an access token of an hour, a refresh token and an id token', async () => {
    const { call, url } = await start()
    const at = (await stopClock(call)) / 1000
    const app = await newApp(call)
    const { code, session } = await authorizeApp(call, app, { nonce: 'a nonce' })
    const { status, body, headers } = await exchangeCode(call, app, code)
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.stringMatching(JWT),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: ALL_SCOPES,
      refresh_token: expect.stringMatching(REFRESH),
      id_token: expect.stringMatching(JWT),
    })
    expect(headers.get('cache-control')).toBe('private, no-store')
    const { user } = (await call('GET', '/v4/session', { session })).body
    const times = { iat: at, exp: at + 3600, auth_time: at }
    const issuer = `${url}/v4/oidc`
    expect(headerOf(body.access_token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
    expect(claimsIn(body.access_token)).toEqual({
      ...{ iss: issuer, sub: String(user.id), aud: issuer, client_id: app.id, scope: ALL_SCOPES, ...times },
      jti: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(headerOf(body.id_token).typ).toBe('JWT')
    expect(claimsIn(body.id_token)).toEqual({
      ...{ iss: issuer, sub: String(user.id), aud: app.id, nonce: 'a nonce', amr: ['otp'], ...times },
      at_hash: expect.stringMatching(/^[\w-]{22}$/),
      ...{ name: user.email, email: user.email, email_verified: true, updated_at: expect.any(Number) },
      twin_hostname: expect.stringContaining('.twin.localhost'),
      agent_twin_hostname: expect.stringContaining('.twin.localhost'),
    })
  })

  it.each(['client_secret_basic', 'client_secret_post', 'none'])(
    'accepts clients that authenticate with %s',
    async (method) => {
      const { call, made: app } = await startWith(start, newApp, { token_endpoint_auth_method: method })
      const { code } = await authorizeApp(call, app)
      expect((await exchangeCode(call, app, code)).status).toBe(200)
    },
  )

  it('takes the request as JSON too', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app)
    const request = { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example.test/callback' }
    const body = { ...request, code_verifier: VERIFIER, client_id: app.id }
    expect((await call('POST', '/v4/oidc/token', { body })).status).toBe(200)
  })

  it('returns an id token only with openid, and a refresh token only with offline_access', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app, { scope: 'twin' })
    const { body } = await exchangeCode(call, app, code)
    expect(Object.keys(body).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
    expect(body.scope).toBe('twin')
  })

  it('returns no refresh token to a client that registered only for codes', async () => {
    const { call, made: app } = await startWith(start, newApp, { grant_types: ['authorization_code'] })
    const { code } = await authorizeApp(call, app)
    const { body } = await exchangeCode(call, app, code)
    expect(body.refresh_token).toBeUndefined()
    expectOAuthError(await refreshWith(call, app, 'tqmt_0'), 400, 'unauthorized_client')
  })

  it.each([
    ['one second before a minute is over it works', '59s', 200],
    ['after a minute it does not', '60s', 400],
  ])('a code lives for a minute: %s', async (_, later, status) => {
    const { call } = await start()
    await stopClock(call)
    const app = await newApp(call)
    const { code } = await authorizeApp(call, app)
    await advance(call, later)
    expect((await exchangeCode(call, app, code)).status).toBe(status)
  })

  it('a code works once, and a second use revokes its tokens', async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    expect(await worksAt(call, agent.accessToken)).toBe(true)
    expectOAuthError(await exchangeCode(call, agent.app, agent.code), 400, 'invalid_grant')
    expect(await worksAt(call, agent.accessToken)).toBe(false)
    expectOAuthError(await refreshWith(call, agent.app, agent.refreshToken), 400, 'invalid_grant')
  })

  it('one of two exchanges of a code at once wins', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app)
    const both = await Promise.all([exchangeCode(call, app, code), exchangeCode(call, app, code)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  })

  it('a refresh token works once, for new tokens with the same user and time of sign-in', async () => {
    const { call } = await start()
    await stopClock(call)
    const agent = await newAgent(call)
    await advance(call, '2h')
    expect(await worksAt(call, agent.accessToken)).toBe(false)
    const { status, body } = await refreshWith(call, agent.app, agent.refreshToken)
    expect(status).toBe(200)
    expect(body.refresh_token).not.toBe(agent.refreshToken)
    expect(await worksAt(call, body.access_token)).toBe(true)
    const [first, second] = [claimsIn(agent.idToken), claimsIn(body.id_token)]
    expect([second.sub, second.auth_time, second.iat]).toEqual([first.sub, first.auth_time, first.iat + 7200])
    expect(second.nonce).toBeUndefined()
  })

  it('a second use of a refresh token ends every token of its family', async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    const second = (await refreshWith(call, agent.app, agent.refreshToken)).body
    const other = await newAgent(call, { app: agent.app, session: agent.session })
    expectOAuthError(await refreshWith(call, agent.app, agent.refreshToken), 400, 'invalid_grant')
    expectOAuthError(await refreshWith(call, agent.app, second.refresh_token), 400, 'invalid_grant')
    expect(await worksAt(call, second.access_token)).toBe(false)
    expect(await worksAt(call, other.accessToken), 'what came of another code').toBe(true)
  })

  it('one of two refreshes at once wins', async () => {
    const {
      call,
      made: { app, refreshToken },
    } = await startWith(start, newAgent)
    const both = await Promise.all([refreshWith(call, app, refreshToken), refreshWith(call, app, refreshToken)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  })

  it.each([
    ['one second before a day is over it works', '23h59m59s', 200],
    ['after a day it does not', '24h', 400],
  ])('a refresh token lives for a day: %s', async (_, later, status) => {
    const { call } = await start()
    await stopClock(call)
    const agent = await newAgent(call)
    await advance(call, later)
    expect((await refreshWith(call, agent.app, agent.refreshToken)).status).toBe(status)
  })

  it('a refresh may narrow the scope of its access token, and the next may use the whole scope again', async () => {
    const {
      call,
      made: { app, refreshToken },
    } = await startWith(start, newAgent)
    const narrow = (await refreshWith(call, app, refreshToken, { scope: 'openid email' })).body
    expect(narrow.scope).toBe('openid email')
    const shown = (await call('GET', '/v4/oidc/me', { token: narrow.access_token })).body
    expect(Object.keys(shown).sort()).toEqual(['email', 'email_verified', 'sub'])
    expect((await refreshWith(call, app, narrow.refresh_token)).body.scope).toBe(ALL_SCOPES)
  })

  it('a refresh cannot widen the scope: 400 invalid_scope, and the refresh token stays unused', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const { refreshToken } = await newAgent(call, { app, scope: 'openid offline_access' })
    for (const scope of ['openid email', 'twin', 'unknown', ''])
      expectOAuthError(await refreshWith(call, app, refreshToken, { scope }), 400, 'invalid_scope')
    expect((await refreshWith(call, app, refreshToken)).status).toBe(200)
  })

  it('`resource` creates a token for one audience, and the interface refuses tokens for others', async () => {
    const { call, url, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app, { resource: `${url}/mcp` })
    const { body } = await exchangeCode(call, app, code, { resource: `${url}/mcp/` })
    expect(claimsIn(body.access_token).aud).toBe(`${url}/mcp`)
    expectProblem(await call('GET', '/v4/agent/account', { token: body.access_token }), 401, 'token_invalid')
    expectOAuthError(await call('GET', '/v4/oidc/me', { token: body.access_token }), 401, 'invalid_token')
    expectOAuthError(await refreshWith(call, app, body.refresh_token, { resource: url }), 400, 'invalid_target')
    const next = (await refreshWith(call, app, body.refresh_token, { resource: `${url}/mcp` })).body
    expect(claimsIn(next.access_token).aud).toBe(`${url}/mcp`)
  })

  it('the exchange may name a resource if the authorization did not', async () => {
    const { call, url, made: app } = await startWith(start, newApp)
    for (const resource of [url, `${url}/v4`, `${url}/v4/oidc`]) {
      const { code } = await authorizeApp(call, app)
      const { body } = await exchangeCode(call, app, code, { resource })
      expect(claimsIn(body.access_token).aud).toBe(resource)
      expect(await worksAt(call, body.access_token)).toBe(true)
    }
    const { code } = await authorizeApp(call, app)
    for (const resource of ['https://other.example.test', `${url}.example.test`, `${url}/mcp/x`, `${url}/mcp#a`])
      expectOAuthError(await exchangeCode(call, app, code, { resource }), 400, 'invalid_target')
    expect((await exchangeCode(call, app, code)).status).toBe(200)
  })

  it.each<[string, Record<string, string>]>([
    ['another verifier', { code_verifier: VERIFIER.replace('a', 'b') }],
    ['a verifier that is too short', { code_verifier: 'short' }],
    ['another redirect URI', { redirect_uri: 'https://app.example.test/callback2' }],
    ['another code', { code: 'unknown' }],
  ])('refuses %s: 400 invalid_grant', async (_, wrong) => {
    const { call, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app)
    expectOAuthError(await exchangeCode(call, app, code, wrong), 400, 'invalid_grant')
    expect((await exchangeCode(call, app, code)).status).toBe(200)
  })

  it('refuses codes and tokens of another client: 400 invalid_grant', async () => {
    const { call } = await start()
    const [app, other] = [await newApp(call), await newApp(call)]
    const { code } = await authorizeApp(call, app)
    expectOAuthError(await exchangeCode(call, other, code), 400, 'invalid_grant')
    const { body } = await exchangeCode(call, app, code)
    expectOAuthError(await refreshWith(call, other, body.refresh_token), 400, 'invalid_grant')
    expect((await refreshWith(call, app, body.refresh_token)).status).toBe(200)
  })

  it.each<[Record<string, string>]>([
    [{}],
    [{ grant_type: 'authorization_code' }],
    [{ grant_type: 'authorization_code', code: 'a' }],
    [{ grant_type: 'refresh_token' }],
  ])('names the missing parameter of a request: %j', async (form) => {
    const { call } = await start()
    const answer = await asClient(call, await newApp(call), 'token', form)
    expectOAuthError(answer, 400, 'invalid_request')
    expect(answer.body.error_description).toContain('Send `')
  })

  it.each(['password', 'client_credentials', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'])(
    'refuses the grant type %s: 400 unsupported_grant_type',
    async (grant_type) => {
      const { call } = await start()
      const form = { grant_type, username: 'ada@example.test', password: 'x' }
      expectOAuthError(await asClient(call, await newApp(call), 'token', form), 400, 'unsupported_grant_type')
    },
  )

  it.each([
    ['client_secret_basic', 'client_secret_post'],
    ['client_secret_post', 'client_secret_basic'],
  ])('a client that registered %s may send its secret by %s', async (registered, sent) => {
    const { call, made: app } = await startWith(start, newApp, { token_endpoint_auth_method: registered })
    const { code } = await authorizeApp(call, app)
    const other = { ...app, body: { ...app.body, token_endpoint_auth_method: sent } }
    const { status, body } = await exchangeCode(call, other, code)
    expect(status).toBe(200)
    expect((await refreshWith(call, other, body.refresh_token)).status).toBe(200)
    expectOAuthError(await refreshWith(call, { ...other, secret: 'mc_wrong' }, 'x'), 401, 'invalid_client')
  })

  it('a public client may send an empty secret', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const { code } = await authorizeApp(call, app)
    expect((await exchangeCode(call, app, code, { client_secret: '' })).status).toBe(200)
  })

  it('a confidential client may do without PKCE, and its tokens are for the interface', async () => {
    const { call, url, made: app } = await startWith(start, newConfidentialApp)
    const { code } = await authorizeApp(call, app, { code_challenge: undefined, code_challenge_method: undefined })
    const grant = { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example.test/callback' }
    expectOAuthError(await asClient(call, app, 'token', { ...grant, resource: `${url}/mcp` }), 400, 'invalid_target')
    const { status, body } = await asClient(call, app, 'token', grant)
    expect([status, claimsIn(body.access_token).aud]).toEqual([200, `${url}/v4/oidc`])
    const mcp = { resource: `${url}/mcp/1` }
    expectOAuthError(await refreshWith(call, app, body.refresh_token, mcp), 400, 'invalid_target')
    expect((await refreshWith(call, app, body.refresh_token)).status).toBe(200)
  })

  it('refuses a verifier for a code that has no challenge, and a missing one for a code that has', async () => {
    const { call, made: app } = await startWith(start, newConfidentialApp)
    const without = { code_challenge: undefined, code_challenge_method: undefined }
    const { code, session } = await authorizeApp(call, app, without)
    expectOAuthError(await exchangeCode(call, app, code), 400, 'invalid_grant')
    const { code: proven } = await authorizeApp(call, app, { session })
    const grant = { grant_type: 'authorization_code', redirect_uri: 'https://app.example.test/callback' }
    expectOAuthError(await asClient(call, app, 'token', { ...grant, code: proven }), 400, 'invalid_grant')
  })

  it('refuses unknown clients, wrong secrets and clients that send none: 401 invalid_client', async () => {
    const { call } = await start()
    const [basicApp, publicApp] = [await newConfidentialApp(call), await newApp(call)]
    const post = (app: { id: string; secret?: string | undefined }) => ({
      form: { client_id: app.id, ...(app.secret !== undefined && { client_secret: app.secret }) },
    })
    const inHeader = (id: string, secret: string) => ({ headers: basic(id, secret), form: {} })
    for (const { headers, form } of [
      { headers: undefined, form: {} },
      { headers: undefined, form: { client_id: 'unknown' } },
      { headers: undefined, ...post({ id: basicApp.id }) },
      { headers: undefined, ...post({ id: basicApp.id, secret: '' }) },
      { headers: undefined, ...post({ id: publicApp.id, secret: 'x' }) },
      inHeader(basicApp.id, 'mc_wrong'),
      inHeader(publicApp.id, 'x'),
      { headers: { authorization: 'Basic %' }, form: {} },
      { headers: { authorization: `Basic ${btoa('no colon')}` }, form: {} },
      { headers: { authorization: `Basic ${btoa('%00:%ff')}` }, form: {} },
      { headers: { authorization: 'Bearer x' }, form: {} },
    ]) {
      const answer = await call('POST', '/v4/oidc/token', {
        ...(headers && { headers }),
        form: { grant_type: 'refresh_token', refresh_token: 'x', ...form } as Record<string, string>,
      })
      expectOAuthError(answer, 401, 'invalid_client')
      if (headers) expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
    }
  })

  it('refuses a client that authenticates in two places: 400 invalid_request', async () => {
    const {
      call,
      made: { id, secret = '' },
    } = await startWith(start, newConfidentialApp)
    for (const form of [{ client_id: id, client_secret: secret }, { client_id: 'other' }])
      expectOAuthError(
        await call('POST', '/v4/oidc/token', { headers: basic(id, secret), form: form as Record<string, string> }),
        400,
        'invalid_request',
      )
  })

  it('answers 429 to a wrong secret after twenty others in a minute, and never to the right one', async () => {
    const { call } = await start()
    await stopClock(call)
    const app = await newConfidentialApp(call)
    const wrong = { ...app, secret: 'mc_wrong' }
    const form = { grant_type: 'refresh_token', refresh_token: 'x' }
    for (let i = 0; i < 20; i++) expectOAuthError(await asClient(call, wrong, 'token', form), 401, 'invalid_client')
    for (const path of ['token', 'token/introspection', 'token/revocation'] as const) {
      const refused = await asClient(call, wrong, path, { ...form, token: 'x' })
      expectProblem(refused, 429, 'too_many_failures')
      expectOAuthError(refused, 429, 'invalid_client')
      expect(refused.headers.get('retry-after')).toBe('60')
    }
    expectOAuthError(await asClient(call, app, 'token', form), 400, 'invalid_grant')
    await advance(call, '1m')
    expectOAuthError(await asClient(call, wrong, 'token', form), 401, 'invalid_client')
  })

  it('stores no token, code or client secret unencrypted', async () => {
    const { call, state, made: app } = await startWith(start, newConfidentialApp)
    const unused = await authorizeApp(call, app)
    const agent = await newAgent(call, { app, session: unused.session })
    await startInteraction(call, app)
    const kept = JSON.stringify(await state())
    for (const secret of [
      ...[unused.code, agent.code, agent.accessToken, agent.refreshToken, agent.idToken, agent.session],
      ...[app.secret as string, app.registrationToken],
    ])
      expect(kept).not.toContain(secret)
    expect(kept).not.toContain('"d":')
  })

  it('old tokens do not pile up', async () => {
    const { call, state } = await start()
    await stopClock(call)
    let { app, refreshToken } = await newAgent(call)
    for (let i = 0; i < 5; i++) {
      await advance(call, '23h')
      refreshToken = (await refreshWith(call, app, refreshToken)).body.refresh_token
    }
    expect((await state()).rows.oidc_tokens?.length).toBeLessThanOrEqual(3)
  })
})
