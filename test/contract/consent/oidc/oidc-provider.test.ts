import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, stopClock } from '../../../support/scenes/market.js'
import {
  asClient,
  claimsIn,
  expectOAuthError,
  headerOf,
  newAgent,
  newApp,
  newConfidentialApp,
  refreshWith,
  worksAt,
} from '../../../support/scenes/oidc.js'
import { newPayer, newSeller } from '../../../support/scenes/world.js'

contract('readOpenidConfiguration', (start) => {
  it('GET /v4/oidc/.well-known/openid-configuration names every address by the base URL, whatever the Host', {
    tags: 'everywhere',
  }, async () => {
    const { call, url } = await start()
    const headers = { host: 'evil.example.test', 'x-forwarded-host': 'evil.example.test', forwarded: 'host=evil' }
    const { body } = await call('GET', '/v4/oidc/.well-known/openid-configuration', { headers })
    const issuer = `${url}/v4/oidc`
    expect(body).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      registration_endpoint: `${issuer}/reg`,
      introspection_endpoint: `${issuer}/token/introspection`,
      revocation_endpoint: `${issuer}/token/revocation`,
      end_session_endpoint: `${issuer}/session/end`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      authorization_response_iss_parameter_supported: true,
    })
    expect(JSON.stringify(body)).not.toContain('evil')
  })

  it.each([
    '/v4/oidc/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/v4/oidc',
    '/.well-known/openid-configuration/v4/oidc',
  ])('%s says the same', async (path) => {
    const { call } = await start()
    const { body } = await call('GET', '/v4/oidc/.well-known/openid-configuration')
    expect((await call('GET', path)).body).toEqual(body)
  })
})

contract('readJwks', (start) => {
  const keysOf = async (call: any) => (await call('GET', '/v4/oidc/jwks')).body.keys as { kid: string }[]

  it('GET /v4/oidc/jwks publishes a key for each algorithm before the first signature, and no private part', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const keys = await keysOf(call)
    expect(keys).toEqual([
      {
        ...{ kty: 'RSA', alg: 'RS256', use: 'sig' },
        ...{ kid: expect.any(String), n: expect.stringMatching(/^[\w-]{342}$/), e: 'AQAB' },
      },
      {
        ...{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' },
        ...{ kid: expect.any(String), x: expect.any(String), y: expect.any(String) },
      },
    ])
    expect(await keysOf(call)).toEqual(keys)
  })

  it('its keys verify the signed tokens', async () => {
    const {
      call,
      url,
      made: { accessToken, idToken, app, session },
    } = await startWith(start, newAgent)
    const other = await newApp(call, { id_token_signed_response_alg: 'RS256' })
    const { idToken: otherIdToken } = await newAgent(call, { app: other, session })
    const keys = createLocalJWKSet((await call('GET', '/v4/oidc/jwks')).body)
    const issuer = `${url}/v4/oidc`
    await jwtVerify(accessToken, keys, { issuer, audience: issuer, typ: 'at+jwt', algorithms: ['ES256'] })
    await jwtVerify(idToken, keys, { issuer, audience: app.id, algorithms: ['ES256'] })
    await jwtVerify(otherIdToken, keys, { issuer, audience: other.id, algorithms: ['RS256'] })
  })

  it('POST /_sandbox/keys/rotate signs with new keys, and publishes the old ones for another day', async () => {
    const { call } = await start()
    await stopClock(call)
    const agent = await newAgent(call)
    const old = headerOf(agent.idToken).kid
    const { kids } = (await call('POST', '/_sandbox/keys/rotate')).body
    expect(kids).toEqual([expect.any(String), expect.any(String), old])
    expect((await keysOf(call)).map(({ kid }) => kid)).toEqual(kids)
    const next = (await refreshWith(call, agent.app, agent.refreshToken)).body
    expect(headerOf(next.id_token).kid).toBe(kids[1])
    expect(headerOf(next.access_token).kid).toBe(kids[1])
    expect(await worksAt(call, agent.accessToken), 'what the old key signed').toBe(true)
    await advance(call, '23h59m59s')
    expect((await keysOf(call)).map(({ kid }) => kid)).toEqual(kids)
    await advance(call, '1s')
    expect((await keysOf(call)).map(({ kid }) => kid)).toEqual(kids.slice(0, 2))
  })

  it('old keys without valid tokens do not pile up', { tags: 'everywhere' }, async () => {
    const { call, state } = await start()
    await stopClock(call)
    for (let i = 0; i < 2; i++) {
      await call('POST', '/_sandbox/keys/rotate')
      await advance(call, '25h')
    }
    expect((await state()).rows.oidc_keys).toHaveLength(2)
  })
})

contract('readUserinfo', (start) => {
  it.each<[string, string[]]>([
    ['openid', ['sub']],
    ['openid profile', ['name', 'sub', 'updated_at']],
    ['openid email', ['email', 'email_verified', 'sub']],
    ['openid twin', ['agent_twin_hostname', 'agent_twin_key', 'sub', 'twin_hostname']],
  ])('with the scope %s it shows %j', async (scope, names) => {
    const {
      call,
      made: { accessToken },
    } = await startWith(start, newAgent, { scope })
    const { status, body } = await call('GET', '/v4/oidc/me', { token: accessToken })
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(names)
  })

  it("the agent twin is a twin of the user's, other than the primary one; its key is shown here and not in the id token", async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    const { twins } = (await call('GET', '/v4/twins', { session: agent.session })).body
    const [own, primary] = twins
    expect(twins).toHaveLength(2)
    const { body } = await call('GET', '/v4/oidc/me', { token: agent.accessToken })
    expect(body).toMatchObject({
      twin_hostname: primary.hostname,
      agent_twin_hostname: own.hostname,
      agent_twin_key: own.key,
    })
    expect(claimsIn(agent.idToken).agent_twin_key).toBeUndefined()
    expect(JSON.stringify(claimsIn(agent.accessToken))).not.toContain(own.key)
  })

  it('a second app of the same user shares the agent twin', async () => {
    const { call, made: first } = await startWith(start, newAgent)
    const second = await newAgent(call, { session: first.session })
    const hostnames = []
    for (const { accessToken } of [first, second])
      hostnames.push((await call('GET', '/v4/oidc/me', { token: accessToken })).body.agent_twin_hostname)
    expect(hostnames[0]).toBe(hostnames[1])
    expect((await call('GET', '/v4/twins', { session: first.session })).body.twins).toHaveLength(2)
  })

  it('POST takes the token in the header and in a form, but not in both', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { accessToken: token },
    } = await startWith(start, newAgent)
    const { body } = await call('GET', '/v4/oidc/me', { token })
    expect((await call('POST', '/v4/oidc/me', { token })).body).toEqual(body)
    expect((await call('POST', '/v4/oidc/me', { form: { access_token: token } })).body).toEqual(body)
    const both = await call('POST', '/v4/oidc/me', { token, form: { access_token: token } })
    expectOAuthError(both, 400, 'invalid_request')
  })

  it.each(['GET', 'POST'])('%s refuses with a challenge and an OAuth error', async (method) => {
    const { call } = await start()
    const missing = await call(method, '/v4/oidc/me')
    expectOAuthError(missing, 401, 'invalid_token')
    expect(missing.headers.get('www-authenticate')).toBe('Bearer realm="farthing"')
    const wrong = await call(method, '/v4/oidc/me', { token: 'e30.e30.e30' })
    expectOAuthError(wrong, 401, 'invalid_token')
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"')
    const basic = await call(method, '/v4/oidc/me', { headers: { authorization: 'Basic x' } })
    expectOAuthError(basic, 401, 'invalid_request')
    const payer = await newPayer(call, await newSeller(call))
    expectOAuthError(await call(method, '/v4/oidc/me', { token: payer.token }), 401, 'invalid_token')
    const narrow = await newAgent(call, { scope: 'twin offline_access' })
    const refused = await call(method, '/v4/oidc/me', { token: narrow.accessToken })
    expectOAuthError(refused, 403, 'insufficient_scope')
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
  })

  it('does not read a token from the query', async () => {
    const {
      call,
      made: { accessToken },
    } = await startWith(start, newAgent)
    for (const path of ['/v4/oidc/me', '/v4/agent/account'])
      expect((await call('GET', `${path}?access_token=${accessToken}`)).status).toBe(401)
  })

  it('pages of other origins may call it, and read the challenge', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const origin = 'https://app.example.test'
    for (const path of ['me', 'jwks', '.well-known/openid-configuration']) {
      const { headers } = await call('GET', `/v4/oidc/${path}`, { headers: { origin } })
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
    }
    for (const path of ['token', 'reg', 'me']) {
      const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
      const { status, headers } = await call('OPTIONS', `/v4/oidc/${path}`, { headers: { origin, ...asked } })
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-methods')).toContain('POST')
      expect(headers.get('access-control-allow-headers')).toBe('authorization')
    }
  })
})

contract('introspectOidcToken', (start) => {
  it('POST /v4/oidc/token/introspection describes its access token to a confidential client', {
    tags: 'everywhere',
  }, async () => {
    const { call, url } = await start()
    const at = (await stopClock(call)) / 1000
    const app = await newConfidentialApp(call)
    const agent = await newAgent(call, { app })
    const me = (await call('GET', '/v4/oidc/me', { token: agent.accessToken })).body
    const { status, body } = await asClient(call, app, 'token/introspection', { token: agent.accessToken })
    expect(status).toBe(200)
    expect(body).toEqual({
      active: true,
      token_type: 'Bearer',
      scope: 'openid profile email twin offline_access',
      client_id: app.id,
      aud: `${url}/v4/oidc`,
      iss: `${url}/v4/oidc`,
      iat: at,
      exp: at + 3600,
      jti: claimsIn(agent.accessToken).jti,
      ...me,
    })
    expect(body.agent_twin_key).toEqual(expect.any(String))
  })

  it('describes a refresh token until it is used', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const app = await newConfidentialApp(call, { token_endpoint_auth_method: 'client_secret_post' })
    const { refreshToken: token } = await newAgent(call, { app })
    const { body } = await asClient(call, app, 'token/introspection', { token, token_type_hint: 'refresh_token' })
    expect(body).toMatchObject({ active: true, token_type: 'refresh_token', exp: at + 86_400 })
    await refreshWith(call, app, token)
    expect((await asClient(call, app, 'token/introspection', { token })).body).toEqual({ active: false })
  })

  it('says only that a token is not active if it is foreign, unknown, expired, changed or an id token', async () => {
    const { call } = await start()
    await stopClock(call)
    const [app, other] = [await newConfidentialApp(call), await newConfidentialApp(call)]
    const agent = await newAgent(call, { app })
    const changed = agent.accessToken.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    const ask = async (client: typeof app, token: string) =>
      (await asClient(call, client, 'token/introspection', { token })).body
    expect(await ask(other, agent.accessToken)).toEqual({ active: false })
    for (const token of ['unknown', '', changed, agent.idToken])
      expect(await ask(app, token)).toEqual({ active: false })
    await advance(call, '1h')
    expect(await ask(app, agent.accessToken)).toEqual({ active: false })
  })

  it('refuses clients that do not authenticate, such as public ones', async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    const path = '/v4/oidc/token/introspection'
    const token = agent.accessToken
    expectOAuthError(await call('POST', path, { form: { token } }), 401, 'invalid_client')
    expectOAuthError(await asClient(call, agent.app, 'token/introspection', { token }), 401, 'invalid_client')
    const app = await newConfidentialApp(call)
    const wrong = { ...app, secret: 'mc_wrong' }
    expectOAuthError(await asClient(call, wrong, 'token/introspection', { token }), 401, 'invalid_client')
    const twice = { client_id: app.id, client_secret: app.secret as string, token }
    const headers = { authorization: `Basic ${btoa(`${app.id}:${app.secret}`)}` }
    expectOAuthError(await call('POST', path, { form: twice, headers }), 400, 'invalid_request')
  })
})

contract('revokeOidcToken', (start) => {
  it('POST /v4/oidc/token/revocation ends only this access token, at once', async () => {
    const {
      call,
      made: { app, accessToken, refreshToken },
    } = await startWith(start, newAgent)
    const { status, body } = await asClient(call, app, 'token/revocation', { token: accessToken })
    expect([status, body]).toEqual([200, {}])
    expect(await worksAt(call, accessToken)).toBe(false)
    expect((await refreshWith(call, app, refreshToken)).status).toBe(200)
  })

  it('ends a refresh token with every token of its family', async () => {
    const {
      call,
      made: { app, accessToken, refreshToken },
    } = await startWith(start, newAgent)
    await asClient(call, app, 'token/revocation', { token: refreshToken, token_type_hint: 'access_token' })
    expect(await worksAt(call, accessToken)).toBe(false)
    expectOAuthError(await refreshWith(call, app, refreshToken), 400, 'invalid_grant')
  })

  it('treats an unknown token as revoked', { tags: 'everywhere' }, async () => {
    const { call, made: app } = await startWith(start, newConfidentialApp)
    for (const token of ['unknown', 'e30.e30.e30'])
      expect((await asClient(call, app, 'token/revocation', { token })).status).toBe(200)
  })

  it("refuses another client's token, and clients that do not authenticate", async () => {
    const {
      call,
      made: { accessToken: token, refreshToken },
    } = await startWith(start, newAgent)
    const other = await newConfidentialApp(call)
    for (const each of [token, refreshToken])
      expectOAuthError(await asClient(call, other, 'token/revocation', { token: each }), 400, 'unauthorized_client')
    const wrong = { ...other, secret: 'mc_wrong' }
    expectOAuthError(await asClient(call, wrong, 'token/revocation', { token }), 401, 'invalid_client')
    const headers = { authorization: `Basic ${btoa(`${other.id}:x`)}` }
    const form = { token, client_id: other.id, client_secret: 'x' }
    expectOAuthError(await call('POST', '/v4/oidc/token/revocation', { form, headers }), 400, 'invalid_request')
    expect(await worksAt(call, token)).toBe(true)
  })
})
