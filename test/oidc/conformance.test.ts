import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { refreshWith } from '../support/scenes/oidc.js'
import { RelyingParty, RP_CALLBACK, type SignedIn } from '../support/scenes/relying-party.js'

/**
 * The modules of the OpenID Foundation's conformance suite (basic, config and dynamic certification plans of the code
 * flow), by their names there and with what they expect. Like the suite, the relying party sends no PKCE unless the
 * module is about it, and names no algorithm. The last list has the modules that cannot apply, with the reason.
 */

let rp: RelyingParty
beforeAll(async () => {
  rp = new RelyingParty(await startHost(), { pkce: false })
})
// An address gets only a few codes in a quarter of an hour.
beforeEach(() => wait('16m'))
afterAll(() => rp.host.close())

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const userinfo = async ({ tokens }: SignedIn) => (await rp.fetch('/me', bearer(tokens.access_token))).body
const wait = (duration: string) => rp.host.service.sandbox.advance(duration)
const ID_TOKEN_CLAIMS = ['amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sub']
/** The error that an authorization request brings back. */
const errorIn = (back: URL | undefined) => back?.searchParams.get('error')

describe('oidcc-config', () => {
  it('oidcc-discovery-endpoint-verification', async () => {
    const { status, headers, body } = await rp.fetch('/.well-known/openid-configuration')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(body.issuer).toBe(rp.issuer)
    for (const [name, value] of Object.entries(body))
      if (/_(endpoint|uri)$/.test(name)) expect(new URL(value as string).href.startsWith(rp.issuer)).toBe(true)
    expect(body).toMatchObject({
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      claims_parameter_supported: false,
      request_uri_parameter_supported: false,
    })
    expect(body.scopes_supported).toContain('openid')
    const { keys } = (await rp.fetch('/jwks')).body
    expect(keys.map(({ alg, use, d }: Record<string, unknown>) => [alg, use, d])).toEqual([
      ['RS256', 'sig', undefined],
      ['ES256', 'sig', undefined],
    ])
  })
})

describe('oidcc-basic', () => {
  it('oidcc-server', async () => {
    const { claims, tokens } = await rp.signIn()
    expect(claims).toMatchObject({ iss: rp.issuer, sub: expect.any(String), auth_time: expect.any(Number) })
    expect((claims.exp as number) - (claims.iat as number)).toBe(3600)
    expect(tokens.scope).toBe('openid')
  })

  it('oidcc-server-client-secret-post', async () => {
    await rp.signIn({ app: await rp.register({ token_endpoint_auth_method: 'client_secret_post' }) })
  })

  it('oidcc-response-type-missing', async () => {
    const app = await rp.register()
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(app, { response_type: undefined }))
    expect(errorIn(browser.onward)).toBe('invalid_request')
    expect(browser.onward.searchParams.get('state')).toBe('S')
  })

  it('oidcc-idtoken-signature', async () => {
    const { tokens } = await rp.signIn()
    const { keys } = (await rp.fetch('/jwks')).body
    expect(decodeProtectedHeader(tokens.id_token)).toEqual({ alg: 'RS256', kid: keys[0].kid, typ: 'JWT' })
  })

  it('oidcc-userinfo-get', async () => {
    const signedIn = await rp.signIn()
    expect(await userinfo(signedIn)).toEqual({ sub: signedIn.claims.sub })
  })

  it('oidcc-userinfo-post-header', async () => {
    const { tokens, claims } = await rp.signIn()
    const { body } = await rp.fetch('/me', { method: 'POST', ...bearer(tokens.access_token) })
    expect(body).toEqual({ sub: claims.sub })
  })

  it('oidcc-userinfo-post-body', async () => {
    const { tokens, claims } = await rp.signIn()
    const form = new URLSearchParams({ access_token: tokens.access_token })
    expect((await rp.fetch('/me', { method: 'POST', body: form })).body).toEqual({ sub: claims.sub })
  })

  it('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async () => {
    const { claims } = await rp.signIn({ nonce: undefined })
    expect(claims).not.toHaveProperty('nonce')
  })

  it('oidcc-scope-profile', async () => {
    expect(await userinfo(await rp.signIn({ scope: 'openid profile' }))).toEqual({
      ...{ sub: expect.any(String), name: expect.any(String), updated_at: expect.any(Number) },
    })
  })

  it('oidcc-scope-email', async () => {
    expect(await userinfo(await rp.signIn({ scope: 'openid email' }))).toEqual({
      ...{ sub: expect.any(String), email: 'ada@example.test', email_verified: true },
    })
  })

  // Not among the scopes of the provider, so they are ignored.
  it.each(['address', 'phone'])('oidcc-scope-%s', async (scope) => {
    const { tokens, claims } = await rp.signIn({ scope: `openid ${scope}` })
    expect([tokens.scope, Object.keys(claims).sort()]).toEqual(['openid', ID_TOKEN_CLAIMS])
  })

  it('oidcc-scope-all', async () => {
    const signedIn = await rp.signIn({ scope: 'openid profile email address phone' })
    expect(signedIn.tokens.scope).toBe('openid profile email')
    expect(Object.keys(await userinfo(signedIn)).sort()).toEqual([
      'email',
      'email_verified',
      'name',
      'sub',
      'updated_at',
    ])
  })

  it('oidcc-ensure-other-scope-order-succeeds', async () => {
    await rp.signIn({ scope: 'email openid' })
  })

  it.each(['page', 'popup'])('oidcc-display-%s', async (display) => {
    await rp.signIn({ display })
  })

  it('oidcc-prompt-login', async () => {
    const { app, browser, claims } = await rp.signIn()
    await wait('2s')
    expect(await browser.open(rp.address(app, { prompt: 'login' }))).toBeUndefined()
    expect(browser.asksForEmail).toBe(true)
    const again = await rp.signIn({ app, browser, prompt: 'login' })
    expect(again.claims.auth_time).toBeGreaterThan(claims.auth_time as number)
  })

  it('oidcc-prompt-none-not-logged-in', async () => {
    const app = await rp.register()
    expect(errorIn(await new UserAgent(rp.host).open(rp.address(app, { prompt: 'none' })))).toBe('login_required')
  })

  it('oidcc-prompt-none-logged-in', async () => {
    const { app, browser, claims } = await rp.signIn()
    const back = await browser.open(rp.address(app, { prompt: 'none' }))
    const { body } = await rp.exchange(app, rp.codeIn(back as URL))
    const second = await rp.verify(app, body.id_token)
    expect([second.sub, second.auth_time]).toEqual([claims.sub, claims.auth_time])
  })

  it('oidcc-max-age-1', async () => {
    const { app, browser, claims } = await rp.signIn()
    await wait('2s')
    const again = await rp.signIn({ app, browser, max_age: '1' })
    expect(again.claims.auth_time).toBeGreaterThan(claims.auth_time as number)
  })

  it('oidcc-max-age-10000', async () => {
    const { app, browser, claims } = await rp.signIn()
    await wait('2s')
    const back = (await browser.open(rp.address(app, { max_age: '10000' }))) as URL
    const { body } = await rp.exchange(app, rp.codeIn(back))
    expect((await rp.verify(app, body.id_token)).auth_time).toBe(claims.auth_time)
  })

  it('oidcc-ensure-request-with-unknown-parameter-succeeds', async () => {
    await rp.signIn({ extra: 'foobar' })
  })

  it('oidcc-id-token-hint', async () => {
    const { app, browser, tokens, claims } = await rp.signIn()
    const back = (await browser.open(rp.address(app, { prompt: 'none', id_token_hint: tokens.id_token }))) as URL
    const { body } = await rp.exchange(app, rp.codeIn(back))
    expect((await rp.verify(app, body.id_token)).sub).toBe(claims.sub)
  })

  it('oidcc-login-hint', async () => {
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(await rp.register(), { login_hint: 'ada@example.test' }))
    expect(browser.html).toContain('value="ada@example.test"')
  })

  it.each([
    ['oidcc-ui-locales', 'ui_locales'],
    ['oidcc-claims-locales', 'claims_locales'],
    ['oidcc-ensure-request-with-acr-values-succeeds', 'acr_values'],
  ])('%s', async (_, name) => {
    await rp.signIn({ [name]: 'se' })
  })

  it('oidcc-alternate-happy-flow', async () => {
    const { app, browser, claims } = await rp.signIn()
    expect((await rp.signIn({ app, browser, prompt: 'consent', nonce: undefined, max_age: '3600' })).claims.sub).toBe(
      claims.sub,
    )
  })

  // The suite accepts it if a provider that offers no `claims` parameter ignores it.
  it('oidcc-claims-essential', async () => {
    await rp.signIn({ claims: '{"userinfo":{"name":{"essential":true}}}' })
  })

  const requestObject = (claims: object) =>
    [{ alg: 'none' }, claims].map((part) => `${Buffer.from(JSON.stringify(part)).toString('base64url')}.`).join('')

  it('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', async () => {
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(await rp.register(), { request: requestObject({ state: 'other' }) }))
    expect(errorIn(browser.onward)).toBe('request_not_supported')
    expect(browser.onward.searchParams.get('state')).toBe('S')
  })

  it('oidcc-ensure-request-object-with-redirect-uri', async () => {
    const request = requestObject({ redirect_uri: 'https://evil.example.test/callback' })
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(await rp.register(), { request }))
    expect(browser.onward.origin + browser.onward.pathname).toBe(RP_CALLBACK)
    expect(errorIn(browser.onward)).toBe('request_not_supported')
  })

  it('oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported', async () => {
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(await rp.register(), { request_uri: 'https://rp.example.test/request.jwt' }))
    expect(errorIn(browser.onward)).toBe('request_uri_not_supported')
  })

  it('oidcc-codereuse', async () => {
    const app = await rp.register()
    const code = rp.codeIn(await new UserAgent(rp.host).authorize(rp.address(app)))
    const { body } = await rp.exchange(app, code)
    expect((await rp.exchange(app, code)).body).toMatchObject({ error: 'invalid_grant' })
    expect((await rp.fetch('/me', bearer(body.access_token))).status).toBe(401)
  })

  it('oidcc-codereuse-30seconds', async () => {
    const app = await rp.register()
    const code = rp.codeIn(await new UserAgent(rp.host).authorize(rp.address(app)))
    const { body } = await rp.exchange(app, code)
    await wait('30s')
    expect((await rp.exchange(app, code)).body).toMatchObject({ error: 'invalid_grant' })
    expect((await rp.fetch('/me', bearer(body.access_token))).status).toBe(401)
  })

  it('oidcc-ensure-registered-redirect-uri', async () => {
    const browser = new UserAgent(rp.host)
    const redirect_uri = 'https://rp.example.test/other'
    expect(await browser.open(rp.address(await rp.register(), { redirect_uri }))).toBeUndefined()
    expect(browser.status).toBe(400)
    expect(browser.html).toContain('role="alert"')
  })

  it('oidcc-ensure-post-request-succeeds', async () => {
    const app = await rp.register()
    const browser = new UserAgent(rp.host)
    const { searchParams } = rp.address(app)
    await browser.submit(`${rp.issuer}/auth`, Object.fromEntries(searchParams))
    await browser.signIn()
    const back = (await browser.press('allow')) as URL
    expect((await rp.exchange(app, rp.codeIn(back))).status).toBe(200)
  })

  it('oidcc-ensure-request-with-valid-pkce-succeeds', async () => {
    for (const method of ['client_secret_basic', 'none']) {
      const proving = new RelyingParty(rp.host)
      await proving.signIn({ app: await rp.register({ token_endpoint_auth_method: method }) })
    }
  })

  it('oidcc-refresh-token', async () => {
    const { app, tokens, claims } = await rp.signIn({ scope: 'openid offline_access', prompt: 'consent' })
    const { status, body } = await refreshWith(rp.host.call, app, tokens.refresh_token as string)
    expect(status).toBe(200)
    const next = await rp.verify(app, body.id_token)
    expect([next.iss, next.sub, next.aud, next.auth_time]).toEqual([
      claims.iss,
      claims.sub,
      claims.aud,
      claims.auth_time,
    ])
    const other = await rp.register()
    expect((await refreshWith(rp.host.call, other, body.refresh_token)).body).toMatchObject({ error: 'invalid_grant' })
  })
})

describe('oidcc-dynamic', () => {
  it('oidcc-idtoken-rs256', async () => {
    const app = await rp.register({ id_token_signed_response_alg: 'RS256' })
    const { tokens } = await rp.signIn({ app })
    expect(decodeProtectedHeader(tokens.id_token).alg).toBe('RS256')
  })

  it('oidcc-ensure-redirect-uri-in-authorization-request', async () => {
    const browser = new UserAgent(rp.host)
    expect(await browser.open(rp.address(await rp.register(), { redirect_uri: undefined }))).toBeUndefined()
    expect([browser.status, browser.html.includes('role="alert"')]).toEqual([400, true])
  })

  it('oidcc-redirect-uri-query-OK', async () => {
    const redirect_uri = `${RP_CALLBACK}?foo=bar`
    const app = await rp.register({ redirect_uris: [redirect_uri] })
    const back = await new UserAgent(rp.host).authorize(rp.address(app, { redirect_uri }))
    expect(back.searchParams.get('foo')).toBe('bar')
    expect((await rp.exchange(app, rp.codeIn(back), { redirect_uri })).status).toBe(200)
  })

  it.each([
    ['oidcc-redirect-uri-query-added', RP_CALLBACK, `${RP_CALLBACK}?foo=bar`],
    ['oidcc-redirect-uri-query-mismatch', `${RP_CALLBACK}?foo=bar`, `${RP_CALLBACK}?foo=other`],
  ])('%s', async (_, registered, redirect_uri) => {
    const app = await rp.register({ redirect_uris: [registered] })
    const browser = new UserAgent(rp.host)
    expect(await browser.open(rp.address(app, { redirect_uri }))).toBeUndefined()
    expect(browser.status).toBe(400)
  })

  it('oidcc-redirect-uri-regfrag', async () => {
    const body = { redirect_uris: [`${RP_CALLBACK}#foobar`] }
    const answer = await rp.host.call('POST', '/v4/oidc/reg', { body })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_redirect_uri'])
  })

  // Of this module, what needs no network: the address is kept and shown, and never fetched.
  it('oidcc-registration-jwks-uri', async () => {
    const jwks_uri = 'https://rp.example.test/jwks.json'
    const app = await rp.register({ jwks_uri })
    expect(app.body.jwks_uri).toBe(jwks_uri)
    await rp.signIn({ app })
  })

  it.each([
    ['oidcc-registration-logo-uri', 'logo_uri'],
    ['oidcc-registration-policy-uri', 'policy_uri'],
    ['oidcc-registration-tos-uri', 'tos_uri'],
  ])('%s', async (_, name) => {
    const value = `https://rp.example.test/${name}`
    expect((await rp.register({ [name]: value })).body[name]).toBe(value)
  })

  it('oidcc-server-rotate-keys', async () => {
    const { app, browser, tokens } = await rp.signIn()
    const before = decodeProtectedHeader(tokens.id_token).kid
    const { kids } = await rp.host.service.sandbox.rotateKeys()
    expect(kids).toHaveLength(4)
    const next = await rp.signIn({ app, browser })
    expect(decodeProtectedHeader(next.tokens.id_token).kid).toBe(kids[0])
    expect(before).toBe(kids[2])
    await rp.verify(app, tokens.id_token)
  })
})

/** What keeps a module from applying: a feature that the metadata does not offer. The suite skips these, or registers in vain. */
describe('the modules that cannot apply', () => {
  const discovery = async () => (await rp.fetch('/.well-known/openid-configuration')).body

  it.each([
    ['oidcc-ensure-client-assertion-with-iss-aud-succeeds', 'private_key_jwt'],
    ['oidcc-refresh-token-rp-key-rotation', 'private_key_jwt'],
  ])('%s: clients authenticate with a secret', async (_, method) => {
    expect((await discovery()).token_endpoint_auth_methods_supported).not.toContain(method)
    const body = { redirect_uris: [RP_CALLBACK], token_endpoint_auth_method: method }
    expect((await rp.host.call('POST', '/v4/oidc/reg', { body })).body.error).toBe('invalid_client_metadata')
  })

  it('oidcc-idtoken-unsigned: every id token is signed', async () => {
    expect((await discovery()).id_token_signing_alg_values_supported).not.toContain('none')
    const body = { redirect_uris: [RP_CALLBACK], id_token_signed_response_alg: 'none' }
    expect((await rp.host.call('POST', '/v4/oidc/reg', { body })).body.error).toBe('invalid_client_metadata')
  })

  it.each(['oidcc-registration-sector-uri', 'oidcc-registration-sector-bad'])(
    '%s: subjects are public, so no sector has its own',
    async () => {
      expect((await discovery()).subject_types_supported).toEqual(['public'])
      const sector_identifier_uri = 'https://rp.example.test/sector.json'
      expect((await rp.register({ sector_identifier_uri })).body).not.toHaveProperty('sector_identifier_uri')
    },
  )

  it('oidcc-userinfo-rs256: userinfo is JSON, and a registration drops the wish for a JWT', async () => {
    expect(await discovery()).not.toHaveProperty('userinfo_signing_alg_values_supported')
    const { body } = await rp.register({ userinfo_signed_response_alg: 'RS256' })
    expect(body).not.toHaveProperty('userinfo_signed_response_alg')
  })

  it.each(['oidcc-request-uri-unsigned', 'oidcc-request-uri-signed-rs256'])(
    '%s: the provider fetches no request',
    async () => {
      expect((await discovery()).request_uri_parameter_supported).toBe(false)
    },
  )
})
