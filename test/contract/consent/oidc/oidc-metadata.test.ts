import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { newOwnAccount } from '../../../support/scenes/account-changes.js'
import { advance, stopClock } from '../../../support/scenes/market.js'
import {
  ALL_SCOPES,
  asClient,
  authorization,
  CALLBACK,
  expectOAuthError,
  newAgent,
  newApp,
  newConfidentialApp,
  refreshWith,
  refusalAddress,
  returned,
  signInAt,
  startInteraction,
} from '../../../support/scenes/oidc.js'
import { newSession } from '../../../support/scenes/world.js'

contract('the metadata of the provider', (start) => {
  it('lists everything that a client may ask for, and nothing else', async () => {
    const { call, url } = await start()
    const issuer = `${url}/v4/oidc`
    const methods = ['none', 'client_secret_basic', 'client_secret_post']
    expect((await call('GET', '/v4/oidc/.well-known/openid-configuration')).body).toEqual({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      registration_endpoint: `${issuer}/reg`,
      introspection_endpoint: `${issuer}/token/introspection`,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      revocation_endpoint: `${issuer}/token/revocation`,
      revocation_endpoint_auth_methods_supported: methods,
      end_session_endpoint: `${issuer}/session/end`,
      scopes_supported: ALL_SCOPES.split(' '),
      claims_supported: [
        ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'at_hash'],
        ...['name', 'updated_at', 'email', 'email_verified'],
        ...['twin_hostname', 'agent_twin_hostname', 'agent_twin_key'],
      ],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: methods,
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      claims_parameter_supported: false,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
    })
  })

  it('names a key for each algorithm, also when one of them has signed already', async () => {
    const { call } = await start()
    await newAgent(call)
    const { keys } = (await call('GET', '/v4/oidc/jwks')).body
    expect(keys.map(({ alg }: { alg: string }) => alg)).toEqual(['RS256', 'ES256'])
  })
})

contract('the introspection of a token', (start) => {
  it('tells an access token from a refresh token, which keeps all scopes', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const app = await newConfidentialApp(call)
    const agent = await newAgent(call, { app })
    const { body } = await refreshWith(call, app, agent.refreshToken, { scope: 'openid' })
    const introspect = async (token: string) => (await asClient(call, app, 'token/introspection', { token })).body
    expect(await introspect(body.access_token)).toMatchObject({
      ...{ active: true, token_type: 'Bearer', scope: 'openid', exp: at + 3600, jti: expect.any(String) },
    })
    const refresh = await introspect(body.refresh_token)
    expect(refresh).toMatchObject({ active: true, token_type: 'refresh_token', scope: ALL_SCOPES, exp: at + 86_400 })
    expect(refresh).not.toHaveProperty('jti')
    expect(await introspect(agent.refreshToken)).toEqual({ active: false })
    await advance(call, '24h')
    expect(await introspect(body.refresh_token)).toEqual({ active: false })
  })
})

contract('an authorization request', (start) => {
  it('with prompt=none goes back to the app with its mistake', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const answer = await call('GET', authorization(app, { prompt: 'none', scope: 'root' }))
    expect(answer.headers.get('location')).toMatch(new RegExp(`^${CALLBACK}\\?`))
    expect(returned(answer).error).toBe('invalid_scope')
  })

  it('may name the MCP server of any account, and no invisible characters', async () => {
    const { call, url, made: app } = await startWith(start, newApp)
    const shown = await call('GET', await startInteraction(call, app, { resource: `${url}/mcp/1234` }))
    expect(shown.status).toBe(200)
    const refused = await refusalAddress(call, authorization(app, { login_hint: 'ada\u202e@example.test' }))
    expect(refused.searchParams.get('error')).toBe('invalid_request')
  })

  it('shows where the answer goes: the host, this computer, or an app on the device', async () => {
    const { call, made: session } = await startWith(start, newSession, 'ada@example.test')
    for (const [uri, place] of [
      ['https://app.example.test/callback', 'app.example.test'],
      ['http://127.0.0.1:4000/callback', 'this computer'],
      ['com.example.app:/callback', 'an app on this device (com.example.app)'],
    ] as const) {
      const app = await newApp(call, { redirect_uris: [uri] })
      const page = await call('GET', await startInteraction(call, app, { redirect_uri: uri }), { session })
      expect(page.text).toContain(place)
    }
  })

  it('offers the account of its user by its name, and nothing to a user who has none', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const pageFor = async (email: string) => {
      const { session } = await signInAt(call, await startInteraction(call, app), email)
      const { text } = await call('GET', await startInteraction(call, app), { session })
      return text.replace(/<[^>]+>/g, '|').replace(/\s*\|[\s|]*/g, '|')
    }
    expect(await pageFor('nobody@example.test')).not.toContain('Business account')
    const [named, unnamed] = [
      await newOwnAccount(call, 'grace@example.test'),
      await newOwnAccount(call, 'ada@example.test'),
    ]
    await call('PUT', '/v4/account', { token: named.token, body: { businessName: 'Press' } })
    expect(await pageFor('grace@example.test')).toContain('|None|Press|')
    expect(await pageFor('ada@example.test')).toContain(`|None|Account ${unnamed.id}|`)
  })
})

contract('the page that asks before it signs out', (start) => {
  it('keeps the whole request for the answer, and nothing that was not sent', async () => {
    const { call } = await start()
    const bye = 'https://app.example.test/bye'
    const { app, session } = await newAgent(call, { app: await newApp(call, { post_logout_redirect_uris: [bye] }) })
    const request = { client_id: app.id, post_logout_redirect_uri: bye, state: 'a b' }
    const { text } = await call('GET', `/v4/oidc/session/end?${new URLSearchParams(request)}`, { session })
    const kept = [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, ...pair]) => pair)
    expect(Object.fromEntries(kept)).toEqual(request)
    const refused = await call('GET', '/v4/oidc/session/end?id_token_hint=x', { session })
    expectOAuthError(refused, 400, 'invalid_request')
    expect(refused.body.error_description).toContain('`id_token_hint` must be an id token of the client.')
  })
})
