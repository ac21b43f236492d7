import { CompactSign, generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import type { CallOptions } from '../support/api.js'
import { send } from '../support/mcp/mcp.js'
import { attackedEach } from '../support/scenes/attacked.js'
import { expectProblem } from '../support/scenes/market.js'
import {
  asClient,
  authorizeApp,
  CHALLENGE,
  claimsIn,
  credentialsOf,
  exchangeCode,
  expectOAuthError,
  fill,
  headerOf,
  newAgent,
  newApp,
  newConfidentialApp,
  refreshWith,
  signInAt,
  startInteraction,
  VERIFIER,
  worksAt,
} from '../support/scenes/oidc.js'
import { newGuest } from '../support/scenes/sign-in.js'
import { newSeller, newSession } from '../support/scenes/world.js'

/** What RFC 9700 and the authorization specification of MCP warn of, tried against the provider and the MCP servers. */

const { running, call } = attackedEach()

const ping = (path: string, options: CallOptions) => send(call, { id: 1, method: 'ping' }, { path, ...options })
const userinfo = (token: string) => call('GET', '/v4/oidc/me', { token })

describe('an app without access to the email address', () => {
  it.each(['openid profile', 'openid profile offline_access'])('never sees it: scope %s', async (scope) => {
    const app = await newConfidentialApp(call)
    const agent = await newAgent(call, { app, scope })
    const asked = await asClient(call, app, 'token/introspection', { token: agent.accessToken })
    const told = [
      claimsIn(agent.idToken),
      claimsIn(agent.accessToken),
      (await userinfo(agent.accessToken)).body,
      asked.body,
    ]
    expect(asked.body.active).toBe(true)
    if (agent.refreshToken !== undefined) {
      told.push((await asClient(call, app, 'token/introspection', { token: agent.refreshToken })).body)
      told.push(claimsIn((await refreshWith(call, app, agent.refreshToken)).body.id_token))
    }
    expect(JSON.stringify(told)).not.toMatch(/ada@|example\.test/)
  })

  it('does not see it through a token that it narrowed', async () => {
    const { app, refreshToken } = await newAgent(call)
    const { body } = await refreshWith(call, app, refreshToken, { scope: 'openid profile' })
    expect(JSON.stringify([claimsIn(body.id_token), (await userinfo(body.access_token)).body])).not.toContain('ada@')
  })
})

describe('a token for one resource', () => {
  it('does not work at another MCP server or at the interface', async () => {
    const [first, second] = [await newSeller(call), await newSeller(call)]
    const servers = ['/mcp', `/mcp/${first.id}`, `/mcp/${second.id}`]
    for (const own of servers) {
      const resource = `${running().url}${own}`
      const { accessToken: token } = await newAgent(call, { app: await newApp(call), resource })
      for (const path of servers)
        expect([own, path, (await ping(path, { token })).status]).toEqual([own, path, path === own ? 200 : 401])
      expectProblem(await call('GET', '/v4/agent/account', { token }), 401, 'token_invalid')
      expectProblem(await userinfo(token), 401, 'token_invalid')
    }
  })

  it('cannot be refreshed into a token for another resource', async () => {
    const app = await newApp(call)
    const { refreshToken } = await newAgent(call, { app, resource: `${running().url}/mcp/1` })
    for (const resource of [
      `${running().url}/mcp/2`,
      `${running().url}/mcp`,
      running().url,
      'https://evil.example.test',
    ])
      expectOAuthError(await refreshWith(call, app, refreshToken, { resource }), 400, 'invalid_target')
    expect((await refreshWith(call, app, refreshToken)).status).toBe(200)
  })

  it.each([
    '/mcp/../mcp',
    '/mcp/1/../2',
    '/mcp/1%2f2',
    '/mcp?x=1',
    '/mcp#x',
    '/mcp/-1',
    '/MCP',
    '.evil.test/mcp',
    '@evil.test/mcp',
  ])('is not issued for a lookalike resource: %s', async (tail) => {
    const app = await newApp(call)
    const { session } = await authorizeApp(call, app)
    const path = await startInteraction(call, app, { resource: `${running().url}${tail}` })
    const { searchParams } = new URL((await call('GET', path, { session })).headers.get('location') as string)
    expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['invalid_target', null])
  })

  it('calls no tool if its app lacks the wallet scope', async () => {
    const { accessToken: token } = await newAgent(call, { scope: 'openid' })
    expectProblem(await ping('/mcp', { token }), 403, 'insufficient_scope')
  })
})

describe('a credential in place of another', () => {
  it('does not work as an access token, whatever its kind', async () => {
    const { app, idToken, refreshToken, session } = await newAgent(call)
    const { code } = await authorizeApp(call, app, { session })
    for (const token of [idToken, refreshToken, code, app.registrationToken, app.id, session]) {
      expect((await ping('/mcp', { token })).status).toBe(401)
      expect((await call('GET', '/v4/agent/account', { token })).status).toBe(401)
      expect((await userinfo(token)).status).toBe(401)
    }
  })

  it('is not accepted in a URL', async () => {
    const { accessToken } = await newAgent(call)
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await call('POST', `/mcp?access_token=${accessToken}`, { body })).status).toBe(401)
    expect((await call('GET', `/v4/agent/account?access_token=${accessToken}`)).status).toBe(401)
    expect((await call('GET', `/v4/oidc/me?access_token=${accessToken}`)).status).toBe(401)
  })

  it('is not accepted as an id token: an access token, or a token with a forged header or signature', async () => {
    const { app, accessToken, idToken, session } = await newAgent(call)
    const claims = new TextEncoder().encode(JSON.stringify(claimsIn(idToken)))
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const { kid } = headerOf(idToken)
    const forged = (header: object) =>
      new CompactSign(claims).setProtectedHeader({ alg: 'ES256', typ: 'JWT', ...header }).sign(privateKey)
    const hmac = (header: object) =>
      new CompactSign(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...header }).sign(new Uint8Array(32))
    for (const id_token_hint of [
      accessToken,
      await forged({}),
      await forged({ kid: '' }),
      await forged({ kid: '../../../dev/null' }),
      await forged({ kid: `${kid}\u0000` }),
      await forged({ kid, jku: 'https://evil.example.test/jwks' }),
      await forged({ kid: 'https://evil.example.test/jwks', x5u: 'https://evil.example.test/cert' }),
      await hmac({ kid }),
      `${idToken.split('.').slice(0, 2).join('.')}.`,
      `${idToken}.${idToken}`,
    ]) {
      const path = `/v4/oidc/session/end?${new URLSearchParams({ id_token_hint, client_id: app.id })}`
      expectOAuthError(await call('GET', path, { session }), 400, 'invalid_request')
    }
    expect((await call('GET', '/v4/session', { session })).body.user).not.toBeNull()
  })
})

describe('an app that meddles with another', () => {
  it('cannot inspect or revoke its tokens', async () => {
    const [app, other] = [await newConfidentialApp(call), await newConfidentialApp(call)]
    const { accessToken, refreshToken } = await newAgent(call, { app })
    for (const token of [accessToken, refreshToken]) {
      expect((await asClient(call, other, 'token/introspection', { token })).body).toEqual({ active: false })
      expectOAuthError(await asClient(call, other, 'token/revocation', { token }), 400, 'unauthorized_client')
    }
    expectOAuthError(await refreshWith(call, other, refreshToken), 400, 'invalid_grant')
    expect(await worksAt(call, accessToken)).toBe(true)
    expect((await refreshWith(call, app, refreshToken)).status).toBe(200)
  })

  it('cannot authenticate in two places or as two clients', async () => {
    const app = await newConfidentialApp(call)
    const [{ code }, { headers }] = [await authorizeApp(call, app), credentialsOf(app)]
    const other = await newApp(call)
    const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER }
    for (const more of [{ client_secret: app.secret as string }, { client_id: other.id }])
      expectOAuthError(
        await call('POST', '/v4/oidc/token', { headers, form: { ...form, ...more } }),
        400,
        'invalid_request',
      )
    expectOAuthError(
      await call('POST', '/v4/oidc/token', { form: { ...form, client_id: app.id } }),
      401,
      'invalid_client',
    )
    expect((await exchangeCode(call, app, code)).status).toBe(200)
  })

  it('cannot use the registration token of a deleted client, for that client or another', async () => {
    const [app, other] = [await newApp(call), await newApp(call)]
    const token = app.registrationToken
    expect((await call('DELETE', `/v4/oidc/reg/${app.id}`, { token })).status).toBe(204)
    for (const id of [app.id, other.id])
      for (const method of ['GET', 'DELETE'])
        expect((await call(method, `/v4/oidc/reg/${id}`, { token })).status).toBe(401)
    expect((await call('GET', `/v4/oidc/reg/${other.id}`, { token: other.registrationToken })).status).toBe(200)
  })

  it('cannot exchange a code with the challenge as verifier, or with a verifier of another length', async () => {
    const app = await newApp(call)
    const { code } = await authorizeApp(call, app)
    for (const code_verifier of [CHALLENGE, VERIFIER.slice(0, 42), VERIFIER.padEnd(129, '0'), `${VERIFIER}\n`])
      expectOAuthError(await exchangeCode(call, app, code, { code_verifier }), 400, 'invalid_grant')
  })

  it('cannot exchange a code with another port than the code was sent to', async () => {
    const redirect_uri = 'http://127.0.0.1:1234/callback'
    const app = await newApp(call, { redirect_uris: [redirect_uri] })
    const { code } = await authorizeApp(call, app, { redirect_uri })
    const other = { redirect_uri: 'http://127.0.0.1:5678/callback' }
    expectOAuthError(await exchangeCode(call, app, code, other), 400, 'invalid_grant')
    expect((await exchangeCode(call, app, code, { redirect_uri })).status).toBe(200)
  })
})

describe('someone with the URL of another person’s interaction', () => {
  it('cannot consent for them or take over their progress', async () => {
    const app = await newApp(call)
    const path = await startInteraction(call, app)
    const { session: ada } = await signInAt(call, path, 'ada@example.test')
    const thief = await newGuest(call)
    for (const answer of ['allow', 'verify', 'resend']) {
      const taken = await fill(call, path, thief, { answer, account: 'none' })
      expect(taken.headers.get('location') ?? '').not.toContain('code=')
    }
    expect((await call('GET', path, { session: thief })).text).toContain('name="email"')
    const eve = await newSession(call, 'eve@example.test')
    expect((await call('GET', path, { session: eve })).text).toContain('Signed in as eve@example.test')
    const { text } = await call('GET', path, { session: ada })
    expect(text).not.toContain('eve@example.test')
  })

  it('cannot sign another person in as themselves (login CSRF)', async () => {
    const app = await newApp(call)
    const path = await startInteraction(call, app)
    await signInAt(call, path, 'mallory@example.test')
    const ada = await newSession(call, 'ada@example.test')
    const shown = await call('GET', path, { session: ada })
    expect([shown.text.includes('ada@example.test'), shown.text.includes('mallory')]).toEqual([true, false])
  })

  it('cannot run a script in its pages, frame them or read their Referer', async () => {
    const path = await startInteraction(call, await newApp(call), { login_hint: '"><script>alert(1)</script>' })
    const { text, headers } = await call('GET', path)
    expect(text).not.toContain('<script>')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect((await call('GET', '/_sandbox/outbox')).body.messages).toEqual([])
  })
})

describe('an MCP server', () => {
  it.each([
    'https://evil.example.test',
    'null',
    'http://localhost.evil.test',
    'http://evil.test:4242',
    'http://127.0.0.1.evil.test',
  ])('refuses a page of %s, even with a valid token', async (origin) => {
    const { accessToken: token } = await newAgent(call)
    const { status } = await ping('/mcp', { token, headers: { origin } })
    expect(status).toBe(403)
  })
})
