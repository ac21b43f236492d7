import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { expect } from 'vitest'
import type { Answer } from '../api.js'
import type { Host } from '../browser/host.js'
import { UserAgent } from '../browser/user-agent.js'
import { type App, asClient, CHALLENGE, newApp, VERIFIER } from './oidc.js'

export const RP_CALLBACK = 'https://rp.example.test/callback'

export interface SignedIn {
  app: App
  browser: UserAgent
  tokens: { access_token: string; refresh_token?: string; id_token: string; scope: string }
  claims: JWTPayload
}

/** A relying party as the specifications describe one, with as little of its own as can be. */
export class RelyingParty {
  readonly host: Host
  readonly issuer: string
  /** What its requests have, unless they say otherwise. */
  readonly #challenge: Record<string, string>
  readonly #verifier: Record<string, string>

  constructor(host: Host, { pkce = true }: { pkce?: boolean } = {}) {
    this.host = host
    this.issuer = `${host.url}/v4/oidc`
    this.#challenge = pkce ? { code_challenge: CHALLENGE, code_challenge_method: 'S256' } : {}
    this.#verifier = pkce ? { code_verifier: VERIFIER } : {}
  }

  /** Registers with what Dynamic Client Registration sets where nothing is said: Basic and RS256. */
  register(metadata: object = {}): Promise<App> {
    const unsaid = { token_endpoint_auth_method: undefined, id_token_signed_response_alg: undefined }
    return newApp(this.host.call, { redirect_uris: [RP_CALLBACK], ...unsaid, ...metadata })
  }

  /** The address of an authorization request; parameters that are undefined are left out. */
  address({ id }: Pick<App, 'id'>, parameters: Record<string, string | undefined> = {}): URL {
    const url = new URL(`${this.issuer}/auth`)
    const all = {
      ...{ client_id: id, redirect_uri: RP_CALLBACK, response_type: 'code', scope: 'openid', state: 'S', nonce: 'N' },
      ...this.#challenge,
      ...parameters,
    }
    for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.append(name, value)
    return url
  }

  /** The code that an answer brings; its state and issuer are those of the request. */
  codeIn(back: URL): string {
    const { code, state, iss, error } = Object.fromEntries(back.searchParams)
    expect([error, state, iss]).toEqual([undefined, 'S', this.issuer])
    expect(back.origin + back.pathname).toBe(RP_CALLBACK)
    return code as string
  }

  exchange(app: App, code: string, form: Record<string, string> = {}): Promise<Answer> {
    const grant = { grant_type: 'authorization_code', code, redirect_uri: RP_CALLBACK, ...this.#verifier }
    return asClient(this.host.call, app, 'token', { ...grant, ...form })
  }

  /** Checks an id token as OpenID Connect Core 1.0 section 3.1.3.7 says, by the published keys. */
  async verify(app: App, idToken: string): Promise<JWTPayload> {
    const keys = createRemoteJWKSet(new URL(`${this.issuer}/jwks`))
    const algorithms = [app.body.id_token_signed_response_alg]
    const currentDate = new Date(this.host.service.sandbox.clock().now)
    const expected = { issuer: this.issuer, audience: app.id, algorithms, currentDate }
    return (await jwtVerify(idToken, keys, expected)).payload
  }

  /** The whole way: registers, has a user sign in and allow, and gets tokens. */
  async signIn({
    app,
    browser = new UserAgent(this.host),
    ...parameters
  }: { app?: App; browser?: UserAgent } & Record<string, any> = {}): Promise<SignedIn> {
    const client = app ?? (await this.register())
    const code = this.codeIn(await browser.authorize(this.address(client, parameters)))
    const { status, body } = await this.exchange(client, code)
    expect([status, body.token_type]).toEqual([200, 'Bearer'])
    const claims = await this.verify(client, body.id_token)
    expect(claims.nonce).toBe('nonce' in parameters ? parameters.nonce : 'N')
    return { app: client, browser, tokens: body, claims }
  }

  /** What an endpoint answers, whatever it is. */
  async fetch(path: string, init: RequestInit = {}): Promise<{ status: number; headers: Headers; body: any }> {
    const response = await fetch(`${this.issuer}${path}`, { redirect: 'manual', ...init })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
}
