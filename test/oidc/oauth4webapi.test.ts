import * as oauth from 'oauth4webapi'
import { afterEach, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'

/** Another independent client, which leaves each step to its caller: as MCP clients use the provider. */

const CALLBACK = 'http://127.0.0.1:8976/callback'
const http = { [oauth.allowInsecureRequests]: true }

let host: Host
afterEach(() => host.close())

it('finds the server by RFC 8414, registers, and gets a token for one resource', async () => {
  host = await startHost()
  const issuer = new URL(`${host.url}/v4/oidc`)
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
  const server = await oauth.processDiscoveryResponse(issuer, found)

  const metadata = { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none', client_name: 'An MCP client' }
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, metadata, http),
  )

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
})

it('reads the challenge for an invalid token', async () => {
  host = await startHost()
  const issuer = new URL(`${host.url}/v4/oidc`)
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, http))
  const client = { client_id: 'mid_0' }
  const response = await oauth.userInfoRequest(server, client, 'e30.e30.e30', http)
  await expect(oauth.processUserInfoResponse(server, client, '1', response)).rejects.toMatchObject({
    cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
  })
})
