import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'

/** Another independent client, which leaves each step to its caller: as MCP clients use the provider. */

const CALLBACK = 'http://127.0.0.1:8976/callback'
const http = { [oauth.allowInsecureRequests]: true }

/** The metadata of a client that nobody registers, at its own address. */
const DOCUMENT = {
  client_id: 'https://agent.example.test/client.json',
  client_name: 'An MCP client',
  redirect_uris: [CALLBACK],
  token_endpoint_auth_method: 'none',
}

let host: Host
beforeAll(async () => {
  const upstream = { fetch: async () => Response.json(DOCUMENT) }
  host = await startHost({ upstream })
})
afterAll(() => host.close())

it.each(['registers', 'has a metadata document'])(
  'finds the server by RFC 8414, %s, and gets a token for one resource',
  async (how) => {
    const issuer = new URL(`${host.url}/v4/oidc`)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
    const server = await oauth.processDiscoveryResponse(issuer, found)

    expect(server.client_id_metadata_document_supported).toBe(true)
    const { client_id: _, ...metadata } = DOCUMENT
    const client =
      how === 'registers'
        ? await oauth.processDynamicClientRegistrationResponse(
            await oauth.dynamicClientRegistrationRequest(server, metadata, http),
          )
        : DOCUMENT

    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const resource = `${host.url}/mcp`
    const url = new URL(server.authorization_endpoint as string)
    url.search = String(
      new URLSearchParams({
        ...{ client_id: client.client_id, redirect_uri: CALLBACK, response_type: 'code', state, resource },
        ...{ code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      }),
    )
    const back = await new UserAgent(host).authorize(url)
    // Checks `state`, and `iss` against that of the metadata.
    const parameters = oauth.validateAuthResponse(server, client, back, state)
    const granted = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      CALLBACK,
      verifier,
      {
        additionalParameters: { resource },
        ...http,
      },
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, granted)
    expect(tokens.refresh_token).toEqual(expect.any(String))

    // As a resource server checks it (RFC 9068).
    const request = new Request(`${host.url}/mcp`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
    const claims = await oauth.validateJwtAccessToken(server, request, resource, http)
    expect(claims).toMatchObject({ client_id: client.client_id, aud: resource, iss: server.issuer })
    await expect(oauth.validateJwtAccessToken(server, request, `${host.url}/mcp/7`, http)).rejects.toThrow()

    const refreshed = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      tokens.refresh_token as string,
      http,
    )
    const next = await oauth.processRefreshTokenResponse(server, client, refreshed)
    const revoked = await oauth.revocationRequest(server, client, oauth.None(), next.refresh_token as string, http)
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined()
  },
)

it('reads the challenge for an invalid token', async () => {
  const issuer = new URL(`${host.url}/v4/oidc`)
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, http))
  const client = { client_id: 'mid_0' }
  const response = await oauth.userInfoRequest(server, client, 'e30.e30.e30', http)
  await expect(oauth.processUserInfoResponse(server, client, '1', response)).rejects.toMatchObject({
    cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
  })
})
