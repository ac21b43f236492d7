import { expect, it } from 'vitest'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { expectProblem, stopClock } from '../../../support/scenes/market.js'
import { ALL_SCOPES, CALLBACK, expectOAuthError, newAgent, newApp, worksAt } from '../../../support/scenes/oidc.js'

const CLIENT_ID = /^mid_[0-9a-f]{32}$/
const SECRET = /^mc_[0-9a-f]{32}$/
const TOKEN = /^tqmt_[0-9a-f]{32}$/

contract('registerOidcClient', (start) => {
  it('POST /v4/oidc/reg registers a public client as command-line agents ask for it', async () => {
    const { call, url } = await start()
    const at = (await stopClock(call)) / 1000
    const metadata = {
      redirect_uris: ['http://127.0.0.1:53682/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: ALL_SCOPES,
      client_name: 'agent-cli',
    }
    const { status, body, headers } = await call('POST', '/v4/oidc/reg', { body: { ...metadata, unknown: 1 } })
    expect(status).toBe(201)
    expect(body).toEqual({
      ...metadata,
      client_id: expect.stringMatching(CLIENT_ID),
      client_id_issued_at: at,
      registration_access_token: expect.stringMatching(TOKEN),
      registration_client_uri: `${url}/v4/oidc/reg/${body.client_id}`,
      subject_type: 'public',
      id_token_signed_response_alg: 'RS256',
    })
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  it('defaults to a confidential client with both grants and all scopes', async () => {
    const { call } = await start()
    const { body } = await call('POST', '/v4/oidc/reg', { body: { redirect_uris: [CALLBACK] } })
    expect(body).toMatchObject({
      client_secret: expect.stringMatching(SECRET),
      client_secret_expires_at: 0,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: ALL_SCOPES,
    })
  })

  it('stores names, links and the address of keys, and requires none of them', async () => {
    const { call } = await start()
    const kept = {
      client_uri: 'https://app.example.test',
      logo_uri: 'https://app.example.test/logo.png',
      tos_uri: 'https://app.example.test/terms',
      policy_uri: 'https://app.example.test/privacy',
      contacts: ['ops@app.example.test'],
      application_type: 'web',
      post_logout_redirect_uris: ['https://app.example.test/bye'],
      jwks_uri: 'https://app.example.test/jwks.json',
      software_id: 'errand-runner',
      software_version: '1.2.3',
    }
    expect((await newApp(call, kept)).body).toMatchObject(kept)
    const jwks = { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] }
    expect((await newApp(call, { jwks })).body).toMatchObject({ jwks })
  })

  it('accepts redirect URIs of https, of loopback and of private-use schemes', async () => {
    const { call } = await start()
    for (const uri of [
      'https://app.example.test/callback',
      'https://app.example.test',
      'https://app.example.test/callback?tenant=1',
      'http://localhost:3000/callback',
      'http://127.0.0.1/callback',
      'http://[::1]:8080/callback',
      'com.example.app:/callback',
      'com.example.app://callback',
    ]) {
      const { body } = await newApp(call, { redirect_uris: [uri], post_logout_redirect_uris: [uri] })
      expect([body.redirect_uris, body.post_logout_redirect_uris]).toEqual([[uri], [uri]])
    }
  })

  it('refuses any other, for sign-in and for sign-out: 400 invalid_redirect_uri', async () => {
    const { call, state } = await start()
    for (const uri of [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'java\nscript:alert(1)',
      ' javascript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://app.example.test/x',
      'about:blank',
      'myapp:/callback',
      'http://app.example.test/callback',
      'http://localhost.example.test/callback',
      'http://127.0.0.1.example.test/callback',
      'http://127.0.0.1@app.example.test/callback',
      'https://user:password@app.example.test/callback',
      'https://app.example.test/callback#',
      'https://app.example.test/callback#fragment',
      'https:app.example.test',
      'https:///callback',
      'https://app.example.test\\@other.example.test',
      '//app.example.test/callback',
      '/callback',
      'callback',
      '',
      'https://app.example.test/\u00e9',
      'https://app.example.test/"x',
    ])
      for (const body of [
        { redirect_uris: [CALLBACK, uri] },
        { redirect_uris: [CALLBACK], post_logout_redirect_uris: [uri] },
      ]) {
        const answer = await call('POST', '/v4/oidc/reg', { body })
        expect([uri, answer.status, answer.body.error]).toEqual([uri, 400, 'invalid_redirect_uri'])
      }
    expect((await state()).rows.oidc_clients ?? []).toEqual([])
  })

  it.each([{}, { redirect_uris: [] }])('requires redirect URIs: %j is 400 invalid_redirect_uri', async (body) => {
    const { call } = await start()
    expectOAuthError(await call('POST', '/v4/oidc/reg', { body }), 400, 'invalid_redirect_uri')
  })

  it('refuses unsupported metadata: 400 invalid_client_metadata', async () => {
    const { call, state } = await start()
    for (const metadata of [
      { token_endpoint_auth_method: 'private_key_jwt' },
      { grant_types: ['implicit'] },
      { grant_types: ['authorization_code', 'password'] },
      { grant_types: ['refresh_token'] },
      { grant_types: [] },
      { response_types: ['token'] },
      { response_types: ['code', 'id_token'] },
      { response_types: [] },
      { scope: 'admin' },
      { scope: '' },
      { subject_type: 'pairwise' },
      { id_token_signed_response_alg: 'none' },
      { id_token_signed_response_alg: 'HS256' },
      { jwks: { keys: [] }, jwks_uri: 'https://app.example.test/jwks.json' },
      { logo_uri: 'javascript:alert(1)' },
      { client_uri: 'nowhere' },
      { client_name: 1 },
      { client_name: 'x'.repeat(129) },
      { redirect_uris: 'https://app.example.test' },
      { application_type: 'toaster' },
    ]) {
      const body = { redirect_uris: [CALLBACK], ...metadata }
      const answer = await call('POST', '/v4/oidc/reg', { body })
      expect([metadata, answer.status, answer.body.error]).toEqual([metadata, 400, 'invalid_client_metadata'])
    }
    expect((await state()).rows.oidc_clients ?? []).toEqual([])
  })

  it('refuses a body that is not JSON', async () => {
    const { call } = await start()
    const options = { raw: '{', headers: { 'content-type': 'application/json' } }
    expectOAuthError(await call('POST', '/v4/oidc/reg', options), 400, 'invalid_client_metadata')
  })

  it('registers only the known scopes of a client', async () => {
    const { call } = await start()
    expect((await newApp(call, { scope: 'openid admin email openid' })).body.scope).toBe('openid email')
  })
})

contract('a registration', (start) => {
  const at = (id: string) => `/v4/oidc/reg/${id}`

  it('GET shows it to whoever has its token, with the secret', async () => {
    const { call, made: app } = await startWith(start, newApp, { token_endpoint_auth_method: 'client_secret_post' })
    const { status, body } = await call('GET', at(app.id), { token: app.registrationToken })
    expect(status).toBe(200)
    expect(body).toEqual(app.body)
  })

  it('PUT replaces it and drops missing fields', { tags: 'everywhere' }, async () => {
    const { call, made: app } = await startWith(start, newApp, { client_uri: 'https://app.example.test' })
    const token = app.registrationToken
    const metadata = { redirect_uris: ['https://app.example.test/other'], token_endpoint_auth_method: 'none' }
    const { status, body } = await call('PUT', at(app.id), { token, body: { client_id: app.id, ...metadata } })
    expect(status).toBe(200)
    expect(body).toMatchObject({ client_id: app.id, ...metadata })
    expect(body.client_uri).toBeUndefined()
    expect(body.client_name).toBeUndefined()
    expect((await call('GET', at(app.id), { token })).body).toEqual(body)
  })

  it('a client that becomes confidential gets a secret, and one that becomes public loses it', async () => {
    const { call, made: app } = await startWith(start, newApp)
    const token = app.registrationToken
    const replace = (more: object) =>
      call('PUT', at(app.id), { token, body: { client_id: app.id, redirect_uris: [CALLBACK], ...more } })
    const { client_secret } = (await replace({})).body
    expect(client_secret).toMatch(SECRET)
    expect((await replace({ client_secret })).status).toBe(200)
    expect((await replace({ token_endpoint_auth_method: 'none' })).body.client_secret).toBeUndefined()
    expectOAuthError(await replace({ client_secret }), 400, 'invalid_request')
  })

  it.each<[object, string]>([
    [{ client_id: 'mid_0' }, 'invalid_request'],
    [{ client_secret: 'mc_0' }, 'invalid_request'],
    [{ redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [{ response_types: ['token'] }, 'invalid_client_metadata'],
  ])('PUT refuses %j: 400 %s, and changes nothing', async (wrong, error) => {
    const { call, made: app } = await startWith(start, newApp)
    const token = app.registrationToken
    const body = { client_id: app.id, redirect_uris: [CALLBACK], ...wrong }
    expectOAuthError(await call('PUT', at(app.id), { token, body }), 400, error)
    expect((await call('GET', at(app.id), { token })).body).toEqual(app.body)
  })

  it('DELETE deletes the client and all its tokens', { tags: 'everywhere' }, async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    const { id, registrationToken: token } = agent.app
    expect(await worksAt(call, agent.accessToken)).toBe(true)
    expect((await call('DELETE', at(id), { token })).status).toBe(204)
    expect(await worksAt(call, agent.accessToken)).toBe(false)
    expect((await call('GET', '/v4/connections', { session: agent.session })).body.connections).toEqual([])
    expectOAuthError(await call('GET', at(id), { token }), 401, 'invalid_token')
  })

  it("refuses calls without its token or with another client's", async () => {
    const { call } = await start()
    const [app, other] = [await newApp(call), await newApp(call)]
    const body = { client_id: app.id, redirect_uris: [CALLBACK] }
    for (const options of [
      {},
      { token: other.registrationToken },
      { token: 'x' },
      { headers: { authorization: 'Basic x' } },
    ])
      for (const [method, sent] of [
        ['GET', {}],
        ['PUT', { body }],
        ['DELETE', {}],
      ] as const) {
        const answer = await call(method, at(app.id), { ...options, ...sent })
        expectProblem(answer, 401, 'token_invalid')
        expectOAuthError(answer, 401, 'invalid_token')
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
      }
    for (const [method, sent] of [
      ['GET', {}],
      ['PUT', { body }],
      ['DELETE', {}],
    ] as const)
      expectProblem(await call(method, at('no.name'), { token: app.registrationToken, ...sent }), 404, 'not_found')
    expectOAuthError(await call('GET', at('mid_0'), { token: app.registrationToken }), 401, 'invalid_token')
    expect((await call('GET', at(app.id), { token: app.registrationToken })).body).toEqual(app.body)
  })
})
