import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Answer, Call } from '../api.js'
import { mailedCode, newGuest } from './sign-in.js'
import { basic } from './world.js'

/** Steps of apps that connect to a user, and of the user in their browser. */

export const ALL_SCOPES = 'openid profile email twin offline_access'
export const CALLBACK = 'https://app.example.test/callback'

/** A PKCE verifier and what S256 makes of it. */
export const VERIFIER = 'a-verifier-that-only-the-test-knows-0123456789'
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

export interface App {
  id: string
  secret: string | undefined
  registrationToken: string
  body: any
}

/** Registers an app; without more, a public one. Its id tokens are ES256, because a key for RS256 takes long to make. */
export async function newApp(call: Call, metadata: object = {}): Promise<App> {
  const sent = {
    client_name: 'Errand Runner',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: 'ES256',
    ...metadata,
  }
  const { status, body } = await call('POST', '/v4/oidc/reg', { body: sent })
  expect(status).toBe(201)
  return { id: body.client_id, secret: body.client_secret, registrationToken: body.registration_access_token, body }
}

export const newConfidentialApp = (call: Call, metadata: object = {}): Promise<App> =>
  newApp(call, { token_endpoint_auth_method: 'client_secret_basic', ...metadata })

/** An authorization request that is in order, with other parameters; those that are undefined are left out. */
export function authorization(app: Pick<App, 'id'>, parameters: Record<string, string | undefined> = {}): string {
  const all = {
    client_id: app.id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: ALL_SCOPES,
    state: 'a state',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...parameters,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.append(name, value)
  return `/v4/oidc/auth?${query}`
}

/** Where an answer redirects to. */
export function locationOf(answer: Answer): URL {
  expect([answer.status, answer.text]).toEqual([303, ''])
  return new URL(answer.headers.get('location') as string)
}

/** The parameters that come back to the app. */
export const returned = (answer: Answer): Record<string, string> => Object.fromEntries(locationOf(answer).searchParams)

/** Where the link of a page leads that does not redirect. */
export function onwardIn(html: string): URL {
  const [, href] = /<p class="onward"><a href="([^"]+)"/.exec(html) ?? []
  expect(href, html).toBeDefined()
  return new URL((href as string).replaceAll('&amp;', '&'))
}

/** Where an authorization request leads that is wrong: by the link that a stranger is shown. */
export async function refusalAddress(call: Call, path: string): Promise<URL> {
  const shown = await call('GET', interactionPath(await call('GET', path)))
  expect([shown.status, shown.headers.get('location')]).toEqual([400, null])
  return onwardIn(shown.text)
}

/** The path of the pages that an authorization request leads to. */
export async function startInteraction(
  call: Call,
  app: Pick<App, 'id'>,
  parameters: Record<string, string | undefined> = {},
): Promise<string> {
  return interactionPath(await call('GET', authorization(app, parameters)))
}

function interactionPath(answer: Answer): string {
  const [path] = /\/v4\/oidc\/interaction\/[0-9a-f]{32}$/.exec(locationOf(answer).pathname) ?? []
  return path as string
}

/** Fills in a page of an interaction. */
export const fill = (call: Call, path: string, session: string, form: Record<string, string>): Promise<Answer> =>
  call('POST', path, { session, form })

/** Signs in through the pages. Returns the new session. */
export async function signInAt(
  call: Call,
  path: string,
  email: string,
  session?: string,
): Promise<{ session: string; answer: Answer }> {
  const guest = session ?? (await newGuest(call))
  expect((await fill(call, path, guest, { answer: 'continue', email })).status).toBe(303)
  const code = await mailedCode(call, email)
  const answer = await fill(call, path, guest, { answer: 'verify', code })
  expect(answer.status).toBe(303)
  return { session: answer.headers.get('x-session-id') as string, answer }
}

export interface Connected {
  /** Of the user's browser. */
  session: string
  code: string
}

/** From an authorization request to a code: signs in where no session is given, and allows. */
export async function authorizeApp(
  call: Call,
  app: Pick<App, 'id'>,
  {
    email = 'ada@example.test',
    session,
    account = 'none',
    ...parameters
  }: { email?: string; session?: string; account?: string } & Record<string, string | undefined> = {},
): Promise<Connected> {
  const path = await startInteraction(call, app, parameters)
  const signedIn = session === undefined ? await signInAt(call, path, email) : undefined
  const own = signedIn?.session ?? (session as string)
  // What was allowed before is not asked again.
  const isBack = signedIn && !locationOf(signedIn.answer).pathname.endsWith(path)
  const shown = isBack ? signedIn.answer : await call('GET', path, { session: own })
  const last = shown.status === 303 ? shown : await fill(call, path, own, { answer: 'allow', account })
  const { code } = returned(last)
  expect(code, last.text).toBeDefined()
  return { session: own, code: code as string }
}

/** What a client sends to show who it is. */
export const credentialsOf = ({ id, secret, body }: App): { headers: Record<string, string>; form: object } => {
  if (secret === undefined) return { headers: {}, form: { client_id: id } }
  return body.token_endpoint_auth_method === 'client_secret_basic'
    ? { headers: basic(id, secret), form: {} }
    : { headers: {}, form: { client_id: id, client_secret: secret } }
}

/** A call of the app's to the token endpoint or one beside it. */
export function asClient(
  call: Call,
  app: App,
  path: 'token' | 'token/introspection' | 'token/revocation',
  form: Record<string, string>,
): Promise<Answer> {
  const { headers, form: own } = credentialsOf(app)
  return call('POST', `/v4/oidc/${path}`, { headers, form: { ...own, ...form } })
}

export const exchangeCode = (call: Call, app: App, code: string, form: Record<string, string> = {}): Promise<Answer> =>
  asClient(call, app, 'token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
    ...form,
  })

export const refreshWith = (
  call: Call,
  app: App,
  refresh_token: string,
  form: Record<string, string> = {},
): Promise<Answer> => asClient(call, app, 'token', { grant_type: 'refresh_token', refresh_token, ...form })

export interface Agent extends Connected {
  app: App
  accessToken: string
  refreshToken: string
  idToken: string
}

/** An app that a user has connected, with its tokens. */
export async function newAgent(
  call: Call,
  { app, ...options }: { app?: App; email?: string; session?: string; account?: string } & Record<string, any> = {},
): Promise<Agent> {
  const client = app ?? (await newApp(call))
  const connected = await authorizeApp(call, client, options)
  const { status, body } = await exchangeCode(call, client, connected.code)
  expect(status).toBe(200)
  return {
    ...connected,
    app: client,
    accessToken: body.access_token,
    refreshToken: body.refresh_token,
    idToken: body.id_token,
  }
}

/** The claims of a JWT, whoever signed it. */
export const claimsIn = (jwt: string): Record<string, any> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] as string, 'base64url').toString())

export const headerOf = (jwt: string): Record<string, any> =>
  JSON.parse(Buffer.from(jwt.split('.')[0] as string, 'base64url').toString())

/** Whether an access token is still one. */
export const worksAt = async (call: Call, token: string): Promise<boolean> =>
  (await call('GET', '/v4/agent/account', { token })).status === 200

/** OAuth's error, by its word. */
export function expectOAuthError(answer: Answer, status: number, error: string): void {
  expect([answer.status, answer.body?.error]).toEqual([status, error])
  expect(answer.body.error_description).toEqual(expect.any(String))
  expect(answer.headers.get('cache-control')).toBe('private, no-store')
}
