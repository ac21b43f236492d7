import { problem } from '../../base/problem.js'
import { type Caller, isSessionId, presentedSession, type SentCredentials, wrongCaller } from '../../http/caller.js'
import type { ServiceContext } from '../../http/context.js'
import type { Auth, PagePrincipal, Principal } from '../../http/route.js'
import { accountByPublicSecret } from '../../identity/accounts/account.js'
import {
  findPageSession,
  findSession,
  hasNewId,
  isSignedInByPerson,
  newSessionId,
  type PageSessionRow,
  type SessionRow,
} from '../../identity/sessions/session.js'
import { findAccessToken, ownerOfPair } from '../../identity/tokens/token.js'
import type { Reader } from '../../storage/storage.js'
import { metadataAddress } from '../oidc/issuer.js'
import { findAgentToken } from '../oidc/token.js'

type Context = Pick<ServiceContext, 'clock' | 'random' | 'keys' | 'baseUrl'>

/** A call whose caller is to be found. `authorization`: of the header or the form. */
interface Presented extends Context {
  readonly tx: Reader
  readonly auth: readonly Auth[]
  readonly sent: SentCredentials
  readonly authorization: string | null
}

/**
 * Finds the caller of a route by the first credential in this order: `Authorization`, `X-Session-ID`, `public_secret`,
 * session cookie. The cookie comes last because a browser adds it by itself.
 */
export function authenticate(tx: Reader, auth: readonly Auth[], sent: SentCredentials, context: Context) {
  const authorization = authorizationOf(sent)
  const { clock, random, keys, baseUrl } = context
  const asked: Presented = { tx, auth, sent, authorization, clock, random, keys, baseUrl }
  if (sent.mayPay && /^payment(\s|$)/i.test(authorization ?? '')) return Promise.resolve(withoutCredentials(asked))
  const isDecided = !auth.includes('none') && !auth.includes('client') && !auth.includes('guest')
  // Most calls come with a token.
  return authorization !== null && isDecided ? authenticateToken(asked, authorization) : authenticateAny(asked)
}

async function authenticateAny(asked: Presented): Promise<Caller> {
  const { tx, auth, sent, authorization } = asked
  // A page that names its account wants to know whether there is one.
  if (auth.includes('none') && auth.includes('embed') && sent.publicSecret !== undefined)
    return authenticateEmbed(tx, sent.publicSecret)
  if (auth.includes('none'))
    return authorization === null || !auth.some(usesToken) ? NO_CALLER : authenticateOptional(asked, authorization)
  if (auth.includes('client')) return { principal: exchangePrincipal(authorization), session: undefined }
  if (auth.includes('guest') && (authorization === null || !auth.some(usesToken))) return authenticateGuest(asked)
  if (authorization !== null) return authenticateToken(asked, authorization)
  const isEmbed = auth.includes('embed') && sent.publicSecret !== undefined
  if (isEmbed && sent.headers.get('x-session-id') === null) return authenticateEmbed(tx, sent.publicSecret)
  const sessionId = auth.includes('session') ? presentedSession(sent, asked.baseUrl) : undefined
  if (sessionId !== undefined) return authenticateSession(asked, sessionId)
  return withoutCredentials(asked)
}

/** Refuses, unless the caller may pay in the request itself. */
function withoutCredentials(asked: Presented): Caller {
  const refusal = problem('authorization_missing', {
    detail: `Send ${describeCredentials(asked.auth)}.`,
    ...challenge(asked),
  })
  if (!asked.sent.mayPay) throw refusal
  return { principal: { kind: 'none', refusal }, session: undefined }
}

const NO_CALLER: Caller = { principal: { kind: 'none' }, session: undefined }

const TOKENS: readonly Auth[] = ['account', 'user', 'agent']

/** Authenticates a caller of a public route. A valid token of a kind that the route does not list counts as no caller. */
async function authenticateOptional(asked: Presented, authorization: string): Promise<Caller> {
  const caller = await authenticateToken({ ...asked, auth: TOKENS }, authorization)
  if (!asked.auth.includes(caller.principal.kind)) return NO_CALLER
  requireScope(caller.principal, asked)
  return caller
}

/** Throws `insufficient_scope` for an agent whose token lacks the scope. */
function requireScope(principal: Principal, asked: Presented): void {
  const { agentScope } = asked.sent
  if (principal.kind !== 'agent' || principal.scopes.includes(agentScope)) return
  const detail = `The token needs the scope \`${agentScope}\`. Request it with \`scope\` at /v4/oidc/auth.`
  throw problem('insufficient_scope', { detail, ...challenge(asked, 'insufficient_scope') })
}

function describeCredentials(auth: readonly Auth[]): string {
  const ways = []
  if (auth.some(usesToken)) ways.push(auth.every((kind) => kind === 'agent') ? AGENT_TOKEN : 'a Bearer access token')
  if (auth.includes('session')) ways.push('a session')
  if (auth.includes('embed')) ways.push('`public_secret`')
  return ways.join(', or ')
}

const AGENT_TOKEN = 'the Bearer access token of an app that a user connected'
const usesToken = (kind: Auth): boolean => kind === 'account' || kind === 'user' || kind === 'agent'

/**
 * The `WWW-Authenticate` header (RFC 6750 section 3), with the address of a resource's metadata (RFC 9728 section 5.1).
 * It names no scope without a token: many clients would request only that one, and get no refresh token.
 */
function challenge(
  { sent: { resource, agentScope }, baseUrl }: Presented,
  error?: 'invalid_token' | 'insufficient_scope',
) {
  const parts = ['realm="farthing"']
  if (error !== undefined) parts.push(`error="${error}"`)
  if (error === 'insufficient_scope') parts.push(`scope="${agentScope}"`)
  if (resource !== undefined) parts.push(`resource_metadata="${metadataAddress(resource, { baseUrl })}"`)
  return { headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } }
}

function authorizationOf({ headers, formToken }: SentCredentials): string | null {
  const authorization = headers.get('authorization')
  if (typeof formToken !== 'string') return authorization
  if (authorization !== null)
    throw problem('invalid_request', {
      detail: 'Send the access token either in the `Authorization` header or in the form, not both.',
    })
  return `Bearer ${formToken}`
}

/** Reads the credentials of a token request (Micro Payment Service Interface, section 4.1). */
function exchangePrincipal(authorization: string | null): Principal {
  if (!authorization) throw problem('credentials_missing', { headers: { 'www-authenticate': 'Basic, Bearer' } })
  const { scheme, credentials } = schemeAndCredentials(authorization)
  if (scheme === 'bearer') return { kind: 'refresh', refresh_token: credentials }
  if (scheme !== 'basic') throw problem('scheme_refused')
  const pair = decodeBase64(credentials)
  // Not every storage takes a NUL in a text.
  if (pair.includes('\0')) throw problem('client_unknown')
  const [client_id = '', ...secret] = pair.split(':')
  return { kind: 'client', client_id, client_secret: secret.join(':') }
}

/** The scheme of an `Authorization` header, in lower case, and what comes after it. */
function schemeAndCredentials(authorization: string): { scheme: string; credentials: string } {
  const end = authorization.search(/\s|$/)
  return { scheme: authorization.slice(0, end).toLowerCase(), credentials: authorization.slice(end).trim() }
}

function decodeBase64(text: string): string {
  try {
    return atob(text)
  } catch {
    throw problem('client_unknown', { detail: 'The Basic credentials must be base64.' })
  }
}

async function authenticateToken(asked: Presented, authorization: string): Promise<Caller> {
  const { tx, auth, sent, clock } = asked
  const { scheme, credentials: accessToken } = schemeAndCredentials(authorization)
  if (scheme !== 'bearer' || accessToken === '' || /\s/.test(accessToken))
    throw problem('bearer_required', { detail: tokenSource(auth), ...challenge(asked) })
  // Only tokens of agents are JWTs, and only JWTs contain a dot.
  if (accessToken.includes('.')) {
    const caller = await authenticateAgent(asked, accessToken)
    if (auth !== TOKENS) requireScope(caller.principal, asked)
    return caller
  }
  const token = await findAccessToken(tx, accessToken, clock.now())
  if (!token) {
    // An expired token still says whose it was.
    const owner = await ownerOfPair(tx, accessToken)
    const detail = tokenSource(owner && auth.includes(owner) ? [owner] : auth)
    throw problem('token_invalid', { detail, ...challenge(asked, 'invalid_token') })
  }
  const { owner_kind, owner_id: id, family_id, client_id } = token
  const principal: Principal =
    owner_kind === 'account'
      ? { kind: 'account', owner: `account:${id}`, id, family_id }
      : { kind: 'user', owner: `user:${id}`, id, via: 'token', family_id, client_id }
  if (auth.includes(owner_kind)) return { principal, session: undefined }
  sent.recognized?.(principal)
  if (auth.every((kind) => kind === 'agent')) throw problem('agent_token_required', challenge(asked, 'invalid_token'))
  const detail = `It is the token of ${owner_kind === 'user' ? 'a user' : 'an account'}. ${tokenSource(auth)}`
  throw problem(wrongCaller(auth), { detail, facts: { token_of: owner_kind } })
}

const TOKEN_SOURCES = {
  account: 'Account tokens come from POST /v4/account/oauth/token.',
  user: 'User tokens come from POST /v4/user/oauth/token.',
  agent: 'App tokens come from POST /v4/oidc/token.',
}

function tokenSource(auth: readonly Auth[]): string {
  const kinds = (['account', 'user', 'agent'] as const).filter((kind) => auth.includes(kind))
  return kinds.map((kind) => TOKEN_SOURCES[kind]).join(' ') || `Send ${describeCredentials(auth)}.`
}

async function authenticateAgent(asked: Presented, accessToken: string): Promise<Caller> {
  const { tx, auth, sent, clock, baseUrl } = asked
  const { resource } = sent
  const found = await findAgentToken(tx, accessToken, { at: clock.now(), baseUrl, resource })
  if (!found || 'audience' in found) {
    const detail = found
      ? `The token is only valid for ${found.audience}. Request one at /v4/oidc/auth with \`resource\` ${resource ?? baseUrl}.`
      : TOKEN_SOURCES.agent
    throw problem('token_invalid', { detail, ...challenge(asked, 'invalid_token') })
  }
  const { token, connection, accountId } = found
  const principal: Principal = {
    kind: 'agent',
    owner: `user:${connection.user_id}`,
    user_id: connection.user_id,
    client_id: connection.client_id,
    connection_id: connection.id,
    account_id: accountId,
    scopes: token.access_scopes,
    family_id: token.family_id,
  }
  sent.recognized?.(principal)
  if (!auth.includes('agent')) throw problem(wrongCaller(auth))
  return { principal, session: undefined }
}

async function authenticateSession({ tx, auth, sent: { headers }, clock }: Presented, id: string): Promise<Caller> {
  const session = { id, issued: false }
  const userSession = await findSession(tx, id, clock.now())
  if (userSession)
    return {
      principal: { kind: 'user', owner: `user:${userSession.user_id}`, id: userSession.user_id, via: 'session' },
      session,
      provenUser: provenUserOf(userSession, headers),
    }
  const pageSession = await findPageSession(tx, id, clock.now())
  if (!pageSession)
    throw problem('sign_in_required', (await hasNewId(tx, id, clock.now())) ? { detail: SESSION_ID_CHANGED } : {})
  if (!auth.includes('page')) throw problem(wrongCaller(auth))
  return { principal: pagePrincipal(pageSession, headers), session }
}

const SESSION_ID_CHANGED =
  'The id of this session changed when its user signed in. Send the `session_id` from POST /v4/session/verify, or the latest `X-Session-ID` response header.'

/** Browsers send no `Origin` with some requests to the page's own origin. */
function pagePrincipal(
  { user_id, page: { account_id, origin } }: PageSessionRow,
  headers: SentCredentials['headers'],
): PagePrincipal {
  if ((headers.get('origin') ?? origin) !== origin) throw problem('page_refused')
  return { kind: 'page', owner: `user:${user_id}`, user_id, account_id, origin }
}

/**
 * Issues a new session if the request sends none, or something that is not a session id. The same session again to a retry
 * with a key that is hard to guess: an answer that got lost named it, and it owns what the first request bought and its
 * Idempotency-Key.
 */
async function authenticateGuest(asked: Presented): Promise<Caller> {
  const { tx, auth, sent, clock } = asked
  const presented = presentedSession(sent, asked.baseUrl)
  const known = presented !== undefined && isSessionId(presented)
  const secret = known ? undefined : sent.retrySecret()
  const id = known ? presented : newSessionId(asked, secret)
  const row = known ? await findSession(tx, id, clock.now()) : undefined
  const canBeRefused = auth.includes('page') || auth.some(usesToken)
  const pageSession = known && canBeRefused ? await findPageSession(tx, id, clock.now()) : undefined
  // A page session may not call routes that also accept tokens, unless they list pages.
  if (pageSession && !auth.includes('page')) throw problem(wrongCaller(auth))
  if (pageSession) return { principal: pagePrincipal(pageSession, sent.headers), session: { id, issued: false } }
  return {
    principal: { kind: 'guest', user_id: row?.user_id ?? null },
    session: { id, issued: !known, isDerived: secret !== undefined },
    provenUser: row && provenUserOf(row, sent.headers),
  }
}

/** The user of a session that a browser keeps, if they signed in by a code. */
const provenUserOf = (session: SessionRow, headers: SentCredentials['headers']): number | undefined =>
  isSignedInByPerson(session) && headers.get('x-session-id') === null ? session.user_id : undefined

async function authenticateEmbed(tx: Reader, publicSecret: unknown): Promise<Caller> {
  const account = typeof publicSecret === 'string' ? await accountByPublicSecret(tx, publicSecret) : undefined
  if (!account) throw problem('public_secret_unknown')
  return { principal: { kind: 'embed', account_id: account.id }, session: undefined }
}
