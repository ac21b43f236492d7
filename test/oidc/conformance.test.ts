import { decodeProtectedHeader } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { refreshWith } from '../support/scenes/oidc.js'
import { RelyingParty, type SignedIn } from '../support/scenes/relying-party.js'

/**
 * The modules of the OpenID conformance suite (basic, config and dynamic certification profiles of the code flow),
 * by their names there and with what they expect. Every request has PKCE, which this provider asks of all clients.
 */

let rp: RelyingParty
beforeEach(async () => {
  rp = new RelyingParty(await startHost())
})
afterEach(() => rp.host.close())

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const userinfo = async ({ tokens }: SignedIn) => (await rp.fetch('/me', bearer(tokens.access_token))).body
const wait = (duration: string) => rp.host.service.sandbox.advance(duration)
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
      id_token_signing_alg_values_supported: ['ES256'],
      claims_parameter_supported: false,
      request_uri_parameter_supported: false,
    })
    expect(body.scopes_supported).toContain('openid')
    const { keys } = (await rp.fetch('/jwks')).body
    expect(keys.map(({ d }: { d?: string }) => d)).toEqual([undefined])
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
    expect(decodeProtectedHeader(tokens.id_token)).toEqual({ alg: 'ES256', kid: keys[0].kid, typ: 'JWT' })
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

  it.each(['ui_locales', 'claims_locales', 'acr_values'])('oidcc-%s', async (name) => {
    await rp.signIn({ [name]: 'se' })
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
    await rp.signIn({ app: await rp.register({ token_endpoint_auth_method: 'none' }) })
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
  // Of this module, what needs no network: the address is kept and shown, and never fetched.
  it('oidcc-registration-jwks-uri', async () => {
    const jwks_uri = 'https://rp.example.test/jwks.json'
    const app = await rp.register({ jwks_uri })
    expect(app.body.jwks_uri).toBe(jwks_uri)
    await rp.signIn({ app })
  })

  it.each(['logo_uri', 'policy_uri', 'tos_uri'])('oidcc-registration-%s', async (name) => {
    const value = `https://rp.example.test/${name}`
    expect((await rp.register({ [name]: value })).body[name]).toBe(value)
  })

  it('oidcc-server-rotate-keys', async () => {
    const { app, browser, tokens } = await rp.signIn()
    const before = decodeProtectedHeader(tokens.id_token).kid
    const { kids } = await rp.host.service.sandbox.rotateKeys()
    expect(kids).toHaveLength(2)
    const next = await rp.signIn({ app, browser })
    expect(decodeProtectedHeader(next.tokens.id_token).kid).toBe(kids[0])
    expect(before).toBe(kids[1])
    await rp.verify(app, tokens.id_token)
  })
})
