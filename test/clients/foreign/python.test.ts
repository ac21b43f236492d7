import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../../support/browser/host.js'
import { UserAgent } from '../../support/browser/user-agent.js'
import { ALL_SCOPES, newApp } from '../../support/scenes/oidc.js'
import { need, pythonPackages, run } from '../support/toolchain.js'

const CALLBACK = 'https://app.example.test/callback'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

/** Runs a Python program that says which address to open, and reads which one the browser came back to. */
async function signIn(program: string, packages: string, metadata: object, options: object = {}) {
  const { body } = await newApp(host.call, {
    redirect_uris: [CALLBACK],
    id_token_signed_response_alg: undefined,
    ...metadata,
  })
  const { client_id, client_secret } = body
  const issuer = `${host.url}/v4/oidc`
  const client = { client_id, client_secret, issuer, scope: ALL_SCOPES, redirect_uri: CALLBACK, ...options }
  const { output } = await run(['python3', fileURLToPath(new URL(program, import.meta.url)), JSON.stringify(client)], {
    env: { PYTHONPATH: packages, OAUTHLIB_INSECURE_TRANSPORT: '1', AUTHLIB_INSECURE_TRANSPORT: '1' },
    answer: (line) => {
      const [, address] = /^OPEN (.*)$/.exec(line) ?? []
      return address === undefined ? undefined : new UserAgent(host).authorize(address).then(String)
    },
  })
  const [, result] = /^RESULT (\{.*\})/m.exec(output) ?? []
  expect(result, output).toBeDefined()
  return JSON.parse(result as string)
}

const ADA = { email: 'ada@example.test', email_verified: true, agent_twin_hostname: expect.any(String) }
const CONFIDENTIAL = { token_endpoint_auth_method: 'client_secret_post' }
const signedIn = { claims: expect.objectContaining(ADA), userinfo: expect.objectContaining(ADA), rotated: true }

describe('Authlib 1.8.0 in Flask', () => {
  const authlib = { authlib: '1.8.0', flask: '3.1.3', requests: '2.34.2' }

  it('signs in, checks the id token, refreshes and reads userinfo, public with PKCE', async (context) => {
    const packages = await need(context, pythonPackages('authlib', authlib))
    const client_kwargs = { token_endpoint_auth_method: 'none', code_challenge_method: 'S256' }
    expect(await signIn('authlib_app.py', packages, {}, { client_kwargs })).toEqual(signedIn)
  })

  it('signs in as a client with a secret, without PKCE', async (context) => {
    const packages = await need(context, pythonPackages('authlib', authlib))
    expect(await signIn('authlib_app.py', packages, CONFIDENTIAL)).toEqual(signedIn)
  })
})

describe('requests-oauthlib 2.0.0', () => {
  const oauthlib = { 'requests-oauthlib': '2.0.0' }

  it('signs in, refreshes and reads userinfo, public with PKCE', async (context) => {
    const packages = await need(context, pythonPackages('requests-oauthlib', oauthlib))
    expect(await signIn('requests_oauthlib_app.py', packages, {}, { pkce: 'S256' })).toEqual(signedIn)
  })

  it('signs in as a client with a secret, without PKCE', async (context) => {
    const packages = await need(context, pythonPackages('requests-oauthlib', oauthlib))
    expect(await signIn('requests_oauthlib_app.py', packages, CONFIDENTIAL)).toEqual(signedIn)
  })
})
