import { request } from 'node:http'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { type App, asClient, claimsIn, headerOf, refreshWith, VERIFIER } from '../support/scenes/oidc.js'
import { RelyingParty, RP_CALLBACK } from '../support/scenes/relying-party.js'

/** What someone might try against the provider, over HTTP, each with the refusal that it meets. */

let rp: RelyingParty
beforeAll(async () => {
  rp = new RelyingParty(await startHost())
})
// An address gets only a few codes in a quarter of an hour.
beforeEach(() => rp.host.service.sandbox.advance('16m'))
afterAll(() => rp.host.close())

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const statusOf = async (token: string) => (await rp.fetch('/me', bearer(token))).status
const newCode = async (app: Awaited<ReturnType<RelyingParty['register']>>) =>
  rp.codeIn(await new UserAgent(rp.host).authorize(rp.address(app)))

const NO_PKCE = { code_challenge: undefined, code_challenge_method: undefined }

/** The error that a request of a client leads to which nobody has connected, by the link on the page. */
async function errorOf(app: Pick<App, 'id'>, parameters: Record<string, string | undefined>): Promise<string | null> {
  const browser = new UserAgent(rp.host)
  expect(await browser.open(rp.address(app, parameters))).toBeUndefined()
  const { origin, pathname, hash, searchParams } = browser.onward
  expect([browser.status, origin + pathname, hash]).toEqual([400, RP_CALLBACK, ''])
  expect([searchParams.get('iss'), searchParams.get('code')]).toEqual([rp.issuer, null])
  return searchParams.get('error')
}

describe('a redirect URI', () => {
  it.each([`${RP_CALLBACK}/`, RP_CALLBACK.slice(0, -1), `${RP_CALLBACK}#`, RP_CALLBACK.toUpperCase()])(
    'that differs from the registered one gets no redirect: %s',
    async (redirect_uri) => {
      const browser = new UserAgent(rp.host)
      expect(await browser.open(rp.address(await rp.register(), { redirect_uri }))).toBeUndefined()
      expect([browser.status, browser.html.includes(RP_CALLBACK)]).toEqual([400, false])
    },
  )

  it.each(['javascript:alert(document.cookie)', `${RP_CALLBACK}#fragment`, 'data:text/html,<script>1</script>'])(
    'that runs a script or has a fragment cannot be registered: %s',
    async (uri) => {
      const body = JSON.stringify({ redirect_uris: [uri] })
      const headers = { 'content-type': 'application/json' }
      const answer = await rp.fetch('/reg', { method: 'POST', body, headers })
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_redirect_uri'])
    },
  )
})

describe('PKCE', () => {
  it.each<[string, Record<string, string | undefined>, object]>([
    ['plain', { code_challenge: VERIFIER, code_challenge_method: 'plain' }, {}],
    ['plain by default', { code_challenge_method: undefined }, {}],
    ['missing from a public client', NO_PKCE, { token_endpoint_auth_method: 'none' }],
  ])('%s is refused', async (_, parameters, metadata) => {
    expect(await errorOf(await rp.register(metadata), parameters)).toBe('invalid_request')
  })

  it('missing for an MCP server is refused, and so is the way around by the token request', async () => {
    const app = await rp.register()
    const resource = `${rp.host.url}/mcp`
    expect(await errorOf(app, { ...NO_PKCE, resource })).toBe('invalid_request')
    const back = await new UserAgent(rp.host).authorize(rp.address(app, NO_PKCE))
    const form = { grant_type: 'authorization_code', code: rp.codeIn(back), redirect_uri: RP_CALLBACK, resource }
    expect((await asClient(rp.host.call, app, 'token', form)).body.error).toBe('invalid_target')
  })

  it('that someone removed from an authorization request makes its code useless', async () => {
    const app = await rp.register()
    const code = rp.codeIn(await new UserAgent(rp.host).authorize(rp.address(app, NO_PKCE)))
    const { status, body } = await rp.exchange(app, code)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })

  it('cannot be left out of the exchange by whoever stole a code and the secret', async () => {
    const app = await rp.register()
    const form = { grant_type: 'authorization_code', code: await newCode(app), redirect_uri: RP_CALLBACK }
    const { status, body } = await asClient(rp.host.call, app, 'token', form)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })

  it('is needed for a code that a client got before it became public', async () => {
    const app = await rp.register()
    const code = rp.codeIn(await new UserAgent(rp.host).authorize(rp.address(app, NO_PKCE)))
    const body = { client_id: app.id, redirect_uris: [RP_CALLBACK], token_endpoint_auth_method: 'none' }
    expect((await rp.host.call('PUT', `/v4/oidc/reg/${app.id}`, { body, token: app.registrationToken })).status).toBe(
      200,
    )
    const form = { grant_type: 'authorization_code', code, redirect_uri: RP_CALLBACK, client_id: app.id }
    expect((await rp.host.call('POST', '/v4/oidc/token', { form })).body.error).toBe('invalid_request')
    const proven = { ...form, code_verifier: VERIFIER }
    expect((await rp.host.call('POST', '/v4/oidc/token', { form: proven })).body.error).toBe('invalid_grant')
  })

  it.each(['', 'wrong-verifier-of-the-right-length-0123456789', VERIFIER.slice(1)])(
    'a code is refused with the verifier "%s"',
    async (code_verifier) => {
      const app = await rp.register()
      const { status, body } = await rp.exchange(app, await newCode(app), { code_verifier })
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    },
  )
})

describe('a stolen code', () => {
  it('that is used after its client used it revokes the tokens of that client', async () => {
    const app = await rp.register()
    const code = await newCode(app)
    const { body } = await rp.exchange(app, code)
    expect(await statusOf(body.access_token)).toBe(200)
    expect((await rp.exchange(app, code)).body.error).toBe('invalid_grant')
    expect(await statusOf(body.access_token)).toBe(401)
  })

  it('is refused for another client', async () => {
    const code = await newCode(await rp.register())
    expect((await rp.exchange(await rp.register(), code)).body.error).toBe('invalid_grant')
  })
})

describe('a stolen refresh token', () => {
  it('that is used again revokes its whole family', async () => {
    const { app, tokens } = await rp.signIn({ scope: 'openid offline_access' })
    const stolen = tokens.refresh_token as string
    const next = (await refreshWith(rp.host.call, app, stolen)).body
    expect((await refreshWith(rp.host.call, app, stolen)).body.error).toBe('invalid_grant')
    expect((await refreshWith(rp.host.call, app, next.refresh_token)).body.error).toBe('invalid_grant')
    expect(await statusOf(next.access_token)).toBe(401)
  })

  it('cannot get a wider scope', async () => {
    const { app, tokens } = await rp.signIn({ scope: 'openid offline_access' })
    const wider = { scope: 'openid twin offline_access' }
    const answer = await refreshWith(rp.host.call, app, tokens.refresh_token as string, wider)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope'])
  })
})

describe('other grants', () => {
  it.each(['token', 'id_token', 'id_token token', 'code token'])(
    'response_type=%s is refused',
    async (response_type) => {
      expect(await errorOf(await rp.register(), { response_type })).toBe('unsupported_response_type')
    },
  )

  it('grant_type=password is refused', async () => {
    const form = { grant_type: 'password', username: 'ada@example.test', password: '123456' }
    const { status, body } = await rp.exchange(await rp.register(), '', form)
    expect([status, body.error]).toEqual([400, 'unsupported_grant_type'])
  })
})

describe('audiences', () => {
  it('a resource of another service is refused', async () => {
    expect(await errorOf(await rp.register(), { resource: 'https://bank.test' })).toBe('invalid_target')
  })

  it('a token for another audience gives no access here', async () => {
    const { tokens } = await rp.signIn({ resource: `${rp.host.url}/mcp` })
    expect(await statusOf(tokens.access_token)).toBe(401)
    expect((await rp.host.call('GET', '/v4/agent/account', { token: tokens.access_token })).status).toBe(401)
  })
})

describe('a token', () => {
  it('in the query string is ignored', async () => {
    const { tokens } = await rp.signIn()
    expect((await rp.fetch(`/me?access_token=${tokens.access_token}`)).status).toBe(401)
  })

  it('that someone forged is refused: alg none, HS256 with the public key, ES256 with another key', async () => {
    const { tokens } = await rp.signIn()
    const payload = new TextEncoder().encode(JSON.stringify(claimsIn(tokens.access_token)))
    const header = headerOf(tokens.access_token)
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const [key] = (await rp.fetch('/jwks')).body.keys
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const embedded = { ...header, alg: 'ES256', jwk: { ...(await exportJWK(privateKey)), d: undefined } }
    for (const forged of [
      `${encoded({ ...header, alg: 'none' })}.${tokens.access_token.split('.')[1]}.`,
      await new CompactSign(payload)
        .setProtectedHeader({ ...header, alg: 'HS256' })
        .sign(new TextEncoder().encode(JSON.stringify(key).padEnd(32))),
      await new CompactSign(payload).setProtectedHeader({ ...header, alg: 'ES256' }).sign(privateKey),
      await new CompactSign(payload).setProtectedHeader(embedded).sign(privateKey),
      tokens.access_token.replace(/\.[^.]*$/, '.'),
      `${tokens.access_token}A`,
      tokens.id_token,
    ])
      expect(await statusOf(forged)).toBe(401)
  })

  it('that is a forged ID token does not work as a hint, and signs nobody out', async () => {
    const { app, browser, tokens } = await rp.signIn()
    const [, payload] = tokens.id_token.split('.')
    const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
    const { kid } = headerOf(tokens.id_token)
    const claims = new TextEncoder().encode(JSON.stringify(claimsIn(tokens.id_token)))
    const forge = (alg: string, key: CryptoKey | Uint8Array) =>
      new CompactSign(claims).setProtectedHeader({ alg, typ: 'JWT', kid }).sign(key)
    const { keys } = (await rp.fetch('/jwks')).body
    const published = keys.find((key: { kid: string }) => key.kid === kid)
    for (const id_token_hint of [
      `${none}.${payload}.`,
      await forge('ES256', (await generateKeyPair('ES256')).privateKey),
      await forge('RS256', (await generateKeyPair('RS256')).privateKey),
      await forge('HS256', new TextEncoder().encode(JSON.stringify(published))),
    ]) {
      const back = await browser.open(rp.address(app, { id_token_hint }))
      expect(back?.searchParams.get('error')).toBe('invalid_request')
      await browser.open(`${rp.issuer}/session/end?id_token_hint=${id_token_hint}`)
      expect(browser.status).toBe(400)
    }
    expect(await browser.open(rp.address(app))).toBeInstanceOf(URL)
  })
})

describe('a client', () => {
  it("cannot be managed with another's registration token", async () => {
    const [app, other] = [await rp.register(), await rp.register()]
    for (const method of ['GET', 'DELETE']) {
      const { status } = await rp.fetch(`/reg/${app.id}`, { method, ...bearer(other.registrationToken) })
      expect(status).toBe(401)
    }
  })

  it('that does not authenticate learns nothing about a token', async () => {
    const { tokens } = await rp.signIn()
    const body = new URLSearchParams({ token: tokens.access_token })
    const answer = await rp.fetch('/token/introspection', { method: 'POST', body })
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client'])
  })
})

describe('a hostile Host header', () => {
  const discover = (headers: Record<string, string>) => {
    const { port } = new URL(rp.host.url)
    const path = '/v4/oidc/.well-known/openid-configuration'
    return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const asked = request({ port, host: '127.0.0.1', path, headers }, async (answer) => {
        let body = ''
        for await (const piece of answer) body += piece
        resolve({ status: answer.statusCode, body })
      })
      asked.on('error', reject).end()
    })
  }

  it('is refused', async () => {
    const { status, body } = await discover({ host: 'evil.example.test' })
    expect([status, JSON.parse(body).code]).toEqual([421, 'host_refused'])
  })

  it('does not change the addresses of the provider when a proxy forwards it', async () => {
    const { body } = await discover({ 'x-forwarded-host': 'evil.example.test' })
    expect(JSON.parse(body).issuer).toBe(rp.issuer)
    expect(body).not.toContain('evil')
  })
})

describe('a page of another site', () => {
  it('cannot frame sign-in, consent or sign-out', async () => {
    const app = await rp.register()
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(app))
    for (const address of [browser.address, `${rp.issuer}/auth?client_id=none`, `${rp.issuer}/session/end`]) {
      const { headers } = await fetch(address, { headers: { accept: 'text/html' } })
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    }
  })

  it('cannot consent with the cookie of its visitor', async () => {
    const app = await rp.register()
    const { call, url } = rp.host
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(app))
    const path = new URL(browser.address).pathname
    await browser.signIn()
    expect(browser.asksForConsent).toBe(true)
    for (const origin of ['https://evil.example.test', 'null', `${url}.evil.test`]) {
      const headers = { origin, cookie: browser.cookie }
      const answer = await call('POST', path, { form: { answer: 'allow' }, headers })
      expect([answer.status, answer.body.code]).toEqual([403, 'cross_site'])
    }
    expect(await browser.press('allow')).toBeInstanceOf(URL)
  })

  it('that sets a session cookie in its visitor’s browser does not get the signed-in session', async () => {
    const app = await rp.register()
    const browser = new UserAgent(rp.host)
    await browser.open(rp.address(app))
    const fixed = browser.cookie
    await browser.signIn()
    expect(browser.cookie).not.toBe(fixed)
    const { body } = await rp.host.call('GET', '/v4/session', { headers: { cookie: fixed } })
    expect(body.user).toBeNull()
  })
})
