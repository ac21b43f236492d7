import { decodeProtectedHeader } from 'jose'
import * as client from 'openid-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'

/** An independent client, over HTTP: whatever it takes, it has checked by the specifications. */

const CALLBACK = 'http://127.0.0.1:53682/callback'
const SCOPE = 'openid profile email twin offline_access'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
// An address gets only a few codes in a quarter of an hour.
beforeEach(() => host.call('POST', '/_sandbox/reset'))
afterAll(() => host.close())

const http = { execute: [client.allowInsecureRequests] }

/** Registers by discovery, as an app that has never heard of the service. */
async function connect(metadata: Partial<client.ClientMetadata>, auth?: client.ClientAuth) {
  const issuer = new URL(`${host.url}/v4/oidc`)
  const config = await client.dynamicClientRegistration(issuer, { redirect_uris: [CALLBACK], ...metadata }, auth, http)
  return { config, browser: new UserAgent(host) }
}

async function authorize(
  { config, browser }: Awaited<ReturnType<typeof connect>>,
  parameters: Record<string, string> = {},
) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const [expectedNonce, expectedState] = [client.randomNonce(), client.randomState()]
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    nonce: expectedNonce,
    state: expectedState,
    ...parameters,
  })
  const back = await browser.authorize(url)
  return client.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedNonce, expectedState, maxAge: 600 })
}

describe.each([
  ['a public client', { token_endpoint_auth_method: 'none' }, client.None()],
  ['client_secret_basic', { token_endpoint_auth_method: 'client_secret_basic' }, undefined],
  ['client_secret_post', { token_endpoint_auth_method: 'client_secret_post' }, undefined],
  [
    'a client of ES256',
    { token_endpoint_auth_method: 'client_secret_basic', id_token_signed_response_alg: 'ES256' },
    undefined,
  ],
] as const)('openid-client as %s', (_, metadata, auth) => {
  it('discovers, registers, signs in with PKCE, nonce and state, reads userinfo, refreshes, revokes and signs out', async () => {
    const app = await connect({ ...metadata, post_logout_redirect_uris: [CALLBACK] }, auth ?? authOf(metadata))
    const { config, browser } = app
    expect(config.serverMetadata().issuer).toBe(`${host.url}/v4/oidc`)
    const tokens = await authorize(app)
    const claims = tokens.claims() as client.IDToken
    expect(claims.email).toBe('ada@example.test')
    const { alg } = decodeProtectedHeader(tokens.id_token as string)
    expect(alg).toBe('id_token_signed_response_alg' in metadata ? 'ES256' : 'RS256')
    expect(tokens.expiresIn()).toBeGreaterThan(3590)

    const userinfo = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
    expect(userinfo).toMatchObject({ email: 'ada@example.test', email_verified: true })

    const next = await client.refreshTokenGrant(config, tokens.refresh_token as string)
    expect(next.claims()?.sub).toBe(claims.sub)
    expect(next.refresh_token).not.toBe(tokens.refresh_token)

    await client.tokenRevocation(config, next.refresh_token as string)
    await expect(client.fetchUserInfo(config, next.access_token, claims.sub)).rejects.toMatchObject({ status: 401 })
    await expect(client.refreshTokenGrant(config, next.refresh_token as string)).rejects.toMatchObject({
      error: 'invalid_grant',
    })

    const ending = client.buildEndSessionUrl(config, {
      id_token_hint: tokens.id_token as string,
      post_logout_redirect_uri: CALLBACK,
      state: 'bye',
    })
    expect((await browser.open(ending))?.href).toBe(`${CALLBACK}?state=bye`)
  })
})

const authOf = ({ token_endpoint_auth_method }: { token_endpoint_auth_method: string }): client.ClientAuth =>
  token_endpoint_auth_method === 'client_secret_basic' ? client.ClientSecretBasic() : client.ClientSecretPost()

describe('openid-client', () => {
  const confidential = { token_endpoint_auth_method: 'client_secret_basic' } as const

  it('introspects access and refresh tokens of its own', async () => {
    const app = await connect(confidential, client.ClientSecretBasic())
    const { access_token, refresh_token } = await authorize(app)
    const access = await client.tokenIntrospection(app.config, access_token)
    expect(access).toMatchObject({ active: true, token_type: 'Bearer', agent_twin_key: expect.any(String) })
    const refresh = await client.tokenIntrospection(app.config, refresh_token as string)
    expect(refresh).toMatchObject({ active: true, token_type: 'refresh_token' })
    await client.tokenRevocation(app.config, access_token)
    expect(await client.tokenIntrospection(app.config, access_token)).toEqual({ active: false })
  })

  it('keeps working after a key rotation, and its old ID token still works as a hint', async () => {
    const app = await connect(confidential, client.ClientSecretBasic())
    const first = await authorize(app)
    await host.call('POST', '/_sandbox/keys/rotate')
    const second = await client.refreshTokenGrant(app.config, first.refresh_token as string)
    expect(second.claims()?.sub).toBe(first.claims()?.sub)
    const third = await authorize(app, { prompt: 'none', id_token_hint: first.id_token as string })
    expect(third.claims()?.sub).toBe(first.claims()?.sub)
  })

  it('does without PKCE as a client with a secret that registered for Basic and sends it in the body', async () => {
    const { config, browser } = await connect(confidential, client.ClientSecretPost())
    const expectedState = client.randomState()
    const parameters = { redirect_uri: CALLBACK, scope: 'openid email', state: expectedState }
    const back = await browser.authorize(client.buildAuthorizationUrl(config, parameters))
    const tokens = await client.authorizationCodeGrant(config, back, { expectedState })
    expect(tokens.claims()?.email).toBe('ada@example.test')
  })

  it.each([
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'vscode://vscode.github-authentication/did-authenticate',
    'com.example.app:/callback',
  ])('comes back to %s', async (redirect_uri) => {
    const { config, browser } = await connect(
      { token_endpoint_auth_method: 'none', redirect_uris: [redirect_uri] },
      client.None(),
    )
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier)
    const parameters = { redirect_uri, scope: 'openid', code_challenge, code_challenge_method: 'S256' }
    const back = await browser.authorize(client.buildAuthorizationUrl(config, parameters))
    expect(back.href.startsWith(`${redirect_uri}?`)).toBe(true)
    const tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier })
    expect(tokens.claims()?.iss).toBe(config.serverMetadata().issuer)
  })

  it('accepts the denial as an answer of the provider', async () => {
    const { config, browser } = await connect({ token_endpoint_auth_method: 'none' }, client.None())
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier)
    const parameters = { redirect_uri: CALLBACK, scope: 'openid', code_challenge, code_challenge_method: 'S256' }
    await browser.open(client.buildAuthorizationUrl(config, parameters))
    const back = (await browser.press('cancel')) as URL
    await expect(client.authorizationCodeGrant(config, back, { pkceCodeVerifier })).rejects.toMatchObject({
      error: 'access_denied',
    })
  })
})
