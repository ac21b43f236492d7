import { describe, expect, it } from 'vitest'
import type { Answer } from '../support/api.js'
import { attackedEach } from '../support/scenes/attacked.js'
import { advance, stopClock } from '../support/scenes/market.js'
import {
  type App,
  authorization,
  authorizeApp,
  CALLBACK,
  expectOAuthError,
  locationOf,
  newAgent,
  newApp,
  onwardIn,
  refusalAddress,
  returned,
  startInteraction,
  VERIFIER,
} from '../support/scenes/oidc.js'
import { newSession } from '../support/scenes/world.js'

/** What a stranger tries with a client that anybody can register. */

const EVIL = 'https://evil.example.test/phish'

const { running, call } = attackedEach()

const evilApp = (metadata: object = {}): Promise<App> =>
  newApp(call, { redirect_uris: [EVIL], post_logout_redirect_uris: [EVIL], ...metadata })

const endPath = (parameters: Record<string, string>) => `/v4/oidc/session/end?${new URLSearchParams(parameters)}`
const isSignedIn = async (session: string) => (await call('GET', '/v4/session', { session })).body.user !== null

/** Expects a page that names the target of its link and redirects nobody. */
function expectNamed(page: Answer, status: number): URL {
  expect([page.status, page.headers.get('location'), page.headers.get('refresh')]).toEqual([status, null, null])
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(page.text).toContain('>Continue to evil.example.test</a>')
  return onwardIn(page.text)
}

describe('an authorization request from a client that nobody connected', () => {
  const wrong: Record<string, string | undefined>[] = [
    { response_type: 'token' },
    { response_mode: 'form_post' },
    { code_challenge: undefined },
    { prompt: 'none login' },
    { prompt: 'login none' },
    { scope: 'root' },
    { resource: 'https://bank.example.test' },
    { request: 'e30.e30.' },
    { request_uri: EVIL },
    { id_token_hint: 'x' },
  ]

  it.each(wrong)('does not redirect a visitor because of a mistake: %j', async (parameters) => {
    const app = await evilApp()
    const path = authorization(app, { redirect_uri: EVIL, ...parameters })
    for (const session of [undefined, await newSession(call, 'ada@example.test')]) {
      const interaction = locationOf(await call('GET', path)).pathname
      const to = expectNamed(await call('GET', interaction, session === undefined ? {} : { session }), 400)
      expect(to.href.startsWith(`${EVIL}?error=`)).toBe(true)
    }
  })

  it('does not redirect a visitor after a form post or an answer posted by another site', async () => {
    const app = await evilApp()
    const query = authorization(app, { redirect_uri: EVIL, scope: 'root' }).split('?')[1]
    const form = Object.fromEntries(new URLSearchParams(query))
    const path = locationOf(await call('POST', '/v4/oidc/auth', { form })).pathname
    for (const answer of ['cancel', 'deny', 'allow', 'continue']) {
      const posted = await call('POST', path, { form: { answer, email: 'ada@example.test' } })
      expect(posted.headers.get('location') ?? '').not.toContain('evil')
    }
    expect((await call('GET', '/_sandbox/outbox')).body.messages).toEqual([])
  })

  it('gets no code once it was refused, even if a user allows it', async () => {
    const app = await evilApp()
    const session = await newSession(call, 'ada@example.test')
    const path = locationOf(await call('GET', authorization(app, { redirect_uri: EVIL, scope: 'root' }))).pathname
    await call('POST', path, { session, form: { answer: 'allow', account: 'none' } })
    expect((await running().state()).rows.oidc_codes ?? []).toEqual([])
  })

  it('returns login_required for prompt=none, as OpenID Connect demands', async () => {
    const app = await evilApp()
    const path = await startInteraction(call, app, { redirect_uri: EVIL, prompt: 'none' })
    expect(returned(await call('GET', path))).toMatchObject({ error: 'login_required', iss: expect.any(String) })
  })

  it('returns its error at once if the signed-in user has connected the client', async () => {
    const app = await newApp(call)
    const { session } = await authorizeApp(call, app)
    const mistake = { scope: 'root' }
    const own = await call('GET', await startInteraction(call, app, mistake), { session })
    expect(returned(own)).toMatchObject({ error: 'invalid_scope', state: 'a state' })
    const eve = await newSession(call, 'eve@example.test')
    const other = await call('GET', await startInteraction(call, app, mistake), { session: eve })
    expect([other.status, other.headers.get('location')]).toEqual([400, null])
  })
})

describe('a sign-out', () => {
  it('by a stranger’s client redirects neither a signed-out visitor nor a user who confirms', async () => {
    const request = { client_id: (await evilApp()).id, post_logout_redirect_uri: EVIL, state: 's' }
    expect(expectNamed(await call('GET', endPath(request)), 200).href).toBe(`${EVIL}?state=s`)
    const session = await newSession(call, 'ada@example.test')
    const asked = await call('GET', endPath(request), { session })
    expect([asked.status, await isSignedIn(session)]).toEqual([200, true])
    expect(asked.text).toContain('you can continue to evil.example.test')
    const form = { ...request, answer: 'sign_out' }
    expectNamed(await call('POST', '/v4/oidc/session/end/confirm', { session, form }), 200)
    expect(await isSignedIn(session)).toBe(false)
  })

  it('with the stranger’s own id token redirects no victim, signed in or out', async () => {
    const app = await evilApp()
    const { code } = await authorizeApp(call, app, { email: 'mallory@example.test', redirect_uri: EVIL })
    const { body } = await call('POST', '/v4/oidc/token', {
      form: {
        ...{ grant_type: 'authorization_code', client_id: app.id, code, redirect_uri: EVIL },
        code_verifier: VERIFIER,
      },
    })
    const request = { id_token_hint: body.id_token as string, post_logout_redirect_uri: EVIL }
    expectNamed(await call('GET', endPath(request)), 200)
    const ada = await newSession(call, 'ada@example.test')
    const asked = await call('GET', endPath(request), { session: ada })
    expect([asked.status, asked.headers.get('location'), await isSignedIn(ada)]).toEqual([200, null, true])
  })

  it('by a disconnected app asks the user first, and redirects nobody', async () => {
    const app = await newApp(call, { post_logout_redirect_uris: [CALLBACK] })
    const { session, idToken } = await newAgent(call, { app })
    const [connection] = (await call('GET', '/v4/connections', { session })).body.connections
    await call('DELETE', `/v4/connections/${connection.id}`, { session })
    const request = { id_token_hint: idToken, post_logout_redirect_uri: CALLBACK }
    expect((await call('GET', endPath(request), { session })).status).toBe(200)
    expect(await isSignedIn(session)).toBe(true)
    const form = { ...request, answer: 'sign_out' }
    const after = await call('POST', '/v4/oidc/session/end/confirm', { session, form })
    expect([after.status, after.headers.get('location')]).toEqual([200, null])
  })
})

describe('a redirect URI', () => {
  it.each([
    ...['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'blob:https://a.test/x', 'vbscript:x'],
    ...['about:blank', 'view-source:https://a.test', 'chrome:settings', 'intent:x', 'mailto:a@a.test', 'ws://a.test'],
    ...[
      'cursor.:x',
      'cursor',
      'vscode-:/x',
      'ftp://a.test/',
      'https://*.a.test/cb',
      'https://a.test/*',
      'http://*.localhost/cb',
    ],
    ...['https://a.test/cb/../evil', 'https://a.test/cb/%2e%2E/evil', 'https://a.test/.', 'https://a.test/cb/..;/evil'],
    ...['https://a.test/cb%2f..%2fevil', 'https://a.test/cb%5c..', 'https://a.test/%00', 'com.example.app:/cb/../x'],
    ...[
      'https://a.test@evil.test/cb',
      'https://:x@a.test/',
      'https://a.test/#',
      'http://a.test/cb',
      'http://0.0.0.0/cb',
    ],
    ...['http://localhost.evil.test/cb', 'http://evil.test/localhost', 'http://xlocalhost/cb', 'http://.localhost/cb'],
    ...[
      'http://localhost:99999/cb',
      'http://127.0.0.1.evil.test',
      'http://2130706433/',
      'http://localhost\\@evil.test',
    ],
  ])('is refused in a registration: %s', async (uri) => {
    for (const body of [{ redirect_uris: [uri] }, { redirect_uris: [CALLBACK], post_logout_redirect_uris: [uri] }])
      expectOAuthError(await call('POST', '/v4/oidc/reg', { body }), 400, 'invalid_redirect_uri')
  })

  it('of a known editor or of this computer is accepted exactly as registered', async () => {
    const uris = ['cursor://anysphere.cursor/callback', 'vscode://acme.tool/cb?a=1', 'http://shop.localhost:3000/cb']
    const app = await newApp(call, { redirect_uris: uris })
    for (const redirect_uri of [...uris, 'http://shop.localhost:4000/cb', 'http://shop.localhost/cb'])
      await startInteraction(call, app, { redirect_uri })
    for (const redirect_uri of [
      ...[
        'cursor://evil/callback',
        'vscode://acme.tool/cb',
        'http://evil.localhost:3000/cb',
        'http://localhost:3000/cb',
      ],
      ...['http://shop.localhost:3000/cb/', 'http://shop.localhost:99999/cb', 'https://shop.localhost:3000/cb'],
    ])
      expectOAuthError(await call('GET', authorization(app, { redirect_uri })), 400, 'invalid_request')
  })

  it('of an editor needs consent each time, because any program can claim it', async () => {
    const redirect_uri = 'cursor://anysphere.cursor/callback'
    const app = await newApp(call, { redirect_uris: [redirect_uri] })
    const { session } = await authorizeApp(call, app, { redirect_uri })
    const again = await call('GET', await startInteraction(call, app, { redirect_uri }), { session })
    expect([again.status, again.text.includes('an app on this device (cursor)')]).toEqual([200, true])
    expect((await refusalAddress(call, authorization(app, { redirect_uri, scope: 'root' }))).protocol).toBe('cursor:')
  })
})

describe('a registration', () => {
  const register = (metadata: object) =>
    call('POST', '/v4/oidc/reg', { body: { redirect_uris: [CALLBACK], ...metadata } })
  const uris = (count: number) => Array.from({ length: count }, (_, i) => `https://app.example.test/${i}`)
  const key = { kty: 'RSA', n: 'A'.repeat(342), e: 'AQAB' }
  const keys = (...list: unknown[]) => ({ jwks: { keys: list } })

  it('accepts 32 addresses and 16 keys', async () => {
    const most = { redirect_uris: uris(20), post_logout_redirect_uris: uris(12), ...keys(...Array(16).fill(key)) }
    expect((await register(most)).status).toBe(201)
  })

  it.each<[string, object]>([
    ['33 addresses', { redirect_uris: uris(33) }],
    ['33 addresses in two lists', { redirect_uris: uris(17), post_logout_redirect_uris: uris(16) }],
    ['an address that is too long', { redirect_uris: [`${CALLBACK}?${'x'.repeat(2048)}`] }],
    ['17 keys', keys(...Array(17).fill(key))],
    ['keys that are not a list', { jwks: { keys: { 0: key } } }],
    ['a private RSA key', keys({ ...key, d: 'AQ' })],
    ['the factors of an RSA key', keys({ ...key, p: 'AQ', q: 'AQ' })],
    ['a private EC key', keys({ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' })],
    ['a symmetric key', keys({ kty: 'oct', k: 'c2VjcmV0' })],
    ['a secret beside a public key', keys({ ...key, k: 'c2VjcmV0' })],
    ['a short RSA key', keys({ ...key, n: 'A'.repeat(171) })],
    ['a huge RSA key', keys({ ...key, n: 'A'.repeat(4096) })],
    ['a huge exponent', keys({ ...key, e: 'A'.repeat(342) })],
    ['a long key id', keys({ ...key, kid: 'x'.repeat(256) })],
    ['another curve', keys({ kty: 'EC', crv: 'secp256k1', x: 'x', y: 'y' })],
    ['a key that is text', keys('-----BEGIN PRIVATE KEY-----')],
    ['a long name', { client_name: 'x'.repeat(129) }],
    ['a long scope', { scope: `openid ${'x'.repeat(1024)}` }],
    ['a long software id', { software_id: 'x'.repeat(256) }],
    ['many contacts', { contacts: Array(17).fill('ops@example.test') }],
    ['an address with a password', { client_uri: 'https://a:b@app.example.test' }],
    ['more than 64 KiB', { redirect_uris: uris(32).map((uri) => `${uri}?${'x'.repeat(2010)}`), ...keys(key) }],
  ])('is refused with %s', async (_, metadata) => {
    const { status, body } = await register(metadata)
    expect([status, /^invalid_(redirect_uri|client_metadata)$/.test(body.error)]).toEqual([400, true])
    expect((await running().state()).rows.oidc_clients ?? []).toEqual([])
  })

  it('stores only the known public fields of a key', async () => {
    const { body } = await register(keys({ ...key, kid: 'a', x5c: ['x'.repeat(9000)], note: 'x' }))
    expect(body.jwks.keys).toEqual([{ ...key, kid: 'a' }])
  })

  it('is deleted after 30 days unused, but lasts as long as a connection to it', async () => {
    await stopClock(call)
    const [unused, used] = [await newApp(call), await newApp(call)]
    const { session } = await authorizeApp(call, used, { scope: 'openid' })
    const isThere = async ({ id, registrationToken: token }: App) =>
      (await call('GET', `/v4/oidc/reg/${id}`, { token })).status === 200
    await advance(call, '29d')
    await newApp(call)
    expect([await isThere(unused), await isThere(used)]).toEqual([true, true])
    await advance(call, '1d')
    await newApp(call)
    expect([await isThere(unused), await isThere(used)]).toEqual([false, true])
    const again = await newSession(call, 'ada@example.test')
    expect(again).not.toBe(session)
    const [connection] = (await call('GET', '/v4/connections', { session: again })).body.connections
    await call('DELETE', `/v4/connections/${connection.id}`, { session: again })
    await advance(call, '30d')
    await newApp(call)
    expect(await isThere(used)).toBe(false)
  })
})
