import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { Problem, problem } from '../../base/problem.js'
import { base64url, digest, randomHex, sameSecret } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { z } from '../../http/fields/schema.js'
import { recordUserEvent, subjectOf, users } from '../../identity/users/user.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { claimsOf } from './claims.js'
import {
  authenticateClient,
  idTokenAlgorithm,
  isOwnRedirect,
  type OidcClientRow,
  ownScopes,
  type SentClient,
} from './clients/client.js'
import { endFamily, type FamilyMember, isFamilyAlive } from './connection.js'
import { audienceOf, issuerOf, splitOnSpaces } from './issuer.js'
import { sign } from './keys.js'
import type { Introspected, TokenBody, Tokens } from './schema.js'
import {
  ACCESS_LIFETIME,
  areTokensUnused,
  findCode,
  findOidcAccessToken,
  findOidcRefreshToken,
  isAuthorizationCodeCurrent,
  isOidcRefreshCurrent,
  type OidcCodeRow,
  type OidcTokenRow,
  oidcTokens,
  REFRESH_LIFETIME,
  revokeOidcAccessToken,
  spendAuthorizationCode,
} from './token.js'

/** A request to the token endpoint (RFC 6749 sections 4.1.3 and 6, RFC 7636, RFC 8707). */
type TokenRequest = z.output<typeof TokenBody>
type TokenResponse = z.output<typeof Tokens>
type Context = Pick<ServiceContext, 'random' | 'keys' | 'baseUrl' | 'clock' | 'options'>

/**
 * Exchanges a code or a refresh token. Returns the problems whose effects must be stored: a wrong client secret counts, and
 * reuse of a code or refresh token revokes its family. Throws all others.
 */
export async function createOidcToken(
  tx: Writer,
  { client: sent, request }: { client: SentClient; request: TokenRequest },
  context: Context,
): Promise<TokenResponse | Problem> {
  const at = context.clock.now()
  const client = await authenticateClient(tx, sent, at)
  if (client instanceof Problem) return client
  const { grant_type } = request
  if (grant_type === undefined) throw problem('invalid_request', { detail: 'Send `grant_type`.' })
  const exchange = { tx, client, request, at, context }
  if (grant_type === 'authorization_code') return exchangeCode(exchange)
  if (grant_type === 'refresh_token') return refresh(exchange)
  throw problem('unsupported_grant_type')
}

/** The credentials of a request. Its Idempotency-Key belongs to them, so that the key alone replays nothing. */
export const presentedCredentials = (
  { authorization, client_id, client_secret }: SentClient,
  { grant_type, code, refresh_token }: TokenRequest,
): (string | undefined)[] => [authorization ?? undefined, client_id, client_secret, grant_type, code, refresh_token]

/** Checks that the tokens of a stored answer are unused and not revoked. Throws `invalid_grant`, and problems of the client. */
export async function checkTokenReplay(
  tx: Writer,
  { client: sent, issued }: { client: SentClient; issued: Parameters<typeof areTokensUnused>[1] },
  { clock }: Pick<Context, 'clock'>,
): Promise<void> {
  const at = clock.now()
  const client = await authenticateClient(tx, sent, at)
  if (client instanceof Problem) throw client
  if (!(await areTokensUnused(tx, issued, at))) throw problem('invalid_grant')
}

interface Exchange {
  readonly tx: Writer
  readonly client: OidcClientRow
  readonly request: TokenRequest
  readonly at: number
  readonly context: Context
}

async function exchangeCode(exchange: Exchange): Promise<TokenResponse | Problem> {
  const { tx, client, request, at, context } = exchange
  const { code, code_verifier, redirect_uri, resource } = request
  if (code === undefined) throw problem('invalid_request', { detail: 'Send `code`.' })
  if (code_verifier === undefined && client.secret_digest === null)
    throw problem('invalid_request', { detail: 'Send `code_verifier`.' })
  const row = await findCode(tx, code)
  if (!row || row.client_id !== client.id || !(await isFamilyAlive(tx, row))) throw problem('invalid_grant')
  if (row.family_id !== null) return revokeReused(tx, row, at)
  if (
    !isAuthorizationCodeCurrent(row, at) ||
    row.redirect_uri !== redirect_uri ||
    !isOwnRedirect(client, row.redirect_uri) ||
    !matchesChallenge(code_verifier, row)
  )
    throw problem('invalid_grant')
  const scopes = grantedScopes(client, row)
  const family_id = randomHex(context.random, 16)
  spendAuthorizationCode(tx, row, family_id)
  const grant = { ...grantOf(row), family_id, scopes, audience: chooseAudience(row.resource, resource, context) }
  return tokenResponse(exchange, grant, { scopes, nonce: row.nonce })
}

const grantOf = (row: OidcCodeRow | OidcTokenRow) => {
  const { connection_id, generation, client_id, user_id, resource, auth_time, amr } = row
  return { connection_id, generation, client_id, user_id, resource, auth_time, amr }
}

const mayRefresh = ({ metadata }: OidcClientRow): boolean => metadata.grant_types.includes('refresh_token')

/** RFC 7636 section 4.6. A verifier without a challenge is wrong: someone removed the challenge (RFC 9700 section 2.1.1). */
function matchesChallenge(verifier: string | undefined, { code_challenge }: OidcCodeRow): boolean {
  if (verifier === undefined || code_challenge === null) return verifier === undefined && code_challenge === null
  return (
    /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) && sameSecret(base64url(sha256(utf8ToBytes(verifier))), code_challenge)
  )
}

async function refresh(exchange: Exchange): Promise<TokenResponse | Problem> {
  const { tx, client, request, at, context } = exchange
  const { refresh_token, scope, resource } = request
  if (refresh_token === undefined) throw problem('invalid_request', { detail: 'Send `refresh_token`.' })
  if (!mayRefresh(client)) throw problem('unauthorized_client')
  const row = await findOidcRefreshToken(tx, refresh_token)
  if (!row || row.client_id !== client.id) throw problem('invalid_grant')
  if (row.refresh_used) return revokeReused(tx, row, at)
  if (!isOidcRefreshCurrent(row, at)) throw problem('invalid_grant')
  const granted = grantedScopes(client, row)
  const scopes = narrowScopes(granted, scope)
  const { family_id } = row
  const audience = chooseAudience(row.resource, resource, context)
  const grant = { ...grantOf(row), family_id, scopes: granted, audience }
  tx.put(oidcTokens, { ...row, refresh_used: true })
  return tokenResponse(exchange, grant, { scopes, nonce: null })
}

/** What the user allowed and the client still registers. Throws `invalid_scope` if nothing is left. */
function grantedScopes(client: OidcClientRow, { scopes }: OidcCodeRow | OidcTokenRow): readonly string[] {
  const own = ownScopes(client, scopes).filter((scope) => scope !== 'offline_access' || mayRefresh(client))
  if (own.length === 0) throw problem('invalid_scope')
  return own
}

function narrowScopes(scopes: readonly string[], scope: string | undefined): readonly string[] {
  if (scope === undefined) return scopes
  const requested = splitOnSpaces(scope)
  if (requested.length === 0 || !requested.every((word) => scopes.includes(word))) throw problem('invalid_scope')
  return requested
}

/** The audience of a token: the authorization's resource, or, if it named none, that of the token request. Throws `invalid_target`. */
function chooseAudience(granted: string | null, asked: string | undefined, context: Context): string {
  const narrower = asked === undefined ? undefined : audienceOf(asked, context)
  if (asked !== undefined && (narrower === undefined || (granted !== null && granted !== narrower)))
    throw problem('invalid_target')
  return narrower ?? granted ?? issuerOf(context)
}

/** Someone stole the code or refresh token, so the whole family is revoked (RFC 9700 section 4.14.2). */
async function revokeReused(
  tx: Writer,
  stolen: FamilyMember & Pick<OidcTokenRow, 'user_id' | 'client_id'>,
  at: number,
): Promise<Problem> {
  const { user_id, client_id, connection_id } = stolen
  await endFamily(tx, stolen, at)
  const event = { type: 'token.reused', actor: client_id, subject: `connection:${connection_id}` } as const
  await recordUserEvent(tx, user_id, { ...event, data: { client_id }, at })
  return problem('invalid_grant')
}

type IssuedScopes = { readonly scopes: readonly string[]; readonly nonce: string | null }

async function tokenResponse(exchange: Exchange, grant: Grant, issued: IssuedScopes): Promise<TokenResponse> {
  const { tx, at, context } = exchange
  const { scopes } = issued
  const tokens = await issueTokens(tx, grant, { scopes, at }, context)
  return {
    ...tokens,
    token_type: 'Bearer',
    expires_in: ACCESS_LIFETIME / 1000,
    scope: scopes.join(' '),
    ...(scopes.includes('openid') && { id_token: await idToken(exchange, grant, issued, tokens.access_token) }),
  }
}

/** OpenID Connect Core 1.0 sections 2 and 3.1.3.6. */
async function idToken(exchange: Exchange, grant: Grant, { scopes, nonce }: IssuedScopes, accessToken: string) {
  const { tx, client, at, context } = exchange
  const { user_id: userId, client_id, auth_time, amr } = grant
  const claims = {
    iss: issuerOf(context),
    aud: client_id,
    iat: seconds(at),
    exp: seconds(at + ACCESS_LIFETIME),
    auth_time: seconds(auth_time),
    amr,
    ...(nonce !== null && { nonce }),
    at_hash: base64url(sha256(utf8ToBytes(accessToken)).subarray(0, 16)),
    ...(await claimsOf(tx, { userId, scopes }, context)),
  }
  return sign(tx, { claims, type: 'JWT', algorithm: idTokenAlgorithm(client), at }, context)
}

type Grant = ReturnType<typeof grantOf> & Pick<OidcTokenRow, 'family_id' | 'scopes' | 'audience'>

/** Issues an access token (RFC 9068) for `scopes`, and a refresh token for the whole grant if it includes `offline_access`. */
export async function issueTokens(
  tx: Writer,
  grant: Grant,
  { scopes, at }: { scopes: readonly string[]; at: number },
  context: Context,
): Promise<{ access_token: string; refresh_token?: string }> {
  const id = randomHex(context.random, 16)
  const issued_at = seconds(at) * 1000
  const sub = subjectOf(await getExisting(tx, users, grant.user_id))
  const claims = { ...accessClaims(id, { ...grant, scopes }, issued_at, context), sub }
  const access_token = await sign(tx, { claims, type: 'at+jwt', algorithm: 'ES256', at }, context)
  const refresh_token = grant.scopes.includes('offline_access') ? `tqmt_${randomHex(context.random, 16)}` : undefined
  tx.put(oidcTokens, {
    id,
    ...grant,
    access_scopes: scopes,
    access_digest: digest(access_token),
    issued_at,
    access_expires_at: issued_at + ACCESS_LIFETIME,
    refresh_digest: refresh_token === undefined ? null : digest(refresh_token),
    refresh_used: false,
    refresh_expires_at: issued_at + REFRESH_LIFETIME,
  })
  return { access_token, ...(refresh_token !== undefined && { refresh_token }) }
}

const accessClaims = (jti: string, grant: Grant, at: number, context: Context) => ({
  iss: issuerOf(context),
  aud: grant.audience,
  client_id: grant.client_id,
  scope: grant.scopes.join(' '),
  auth_time: seconds(grant.auth_time),
  iat: seconds(at),
  exp: seconds(at + ACCESS_LIFETIME),
  jti,
})

type SentToken = { readonly client: SentClient; readonly token: string }

/**
 * Describes a token to the confidential client that owns it. Any other token, and an expired one, is just not active.
 * Returns `invalid_client`, so that a wrong secret counts. Throws it for a public client, and `too_many_failures`.
 */
export async function introspectOidcToken(tx: Writer, { client: sent, token }: SentToken, context: Context) {
  const at = context.clock.now()
  const client = await authenticateClient(tx, sent, at)
  if (client instanceof Problem) return client
  // A client id alone is no authentication, which section 2.1 asks for.
  if (client.secret_digest === null)
    throw problem('invalid_client', { detail: 'Public clients cannot introspect tokens. Read /v4/oidc/me instead.' })
  const found = await findToken(tx, token, at)
  return found?.row.client_id === client.id ? describe(tx, found, context) : { active: false }
}

type Found = { readonly row: OidcTokenRow; readonly kind: 'access' | 'refresh' }

async function findToken(tx: Reader, token: string, at: number): Promise<Found | undefined> {
  const access = await findOidcAccessToken(tx, token, at)
  if (access) return (await isFamilyAlive(tx, access)) ? { row: access, kind: 'access' } : undefined
  const refresh = await findOidcRefreshToken(tx, token)
  return refresh && !refresh.refresh_used && isOidcRefreshCurrent(refresh, at)
    ? { row: refresh, kind: 'refresh' }
    : undefined
}

/** RFC 7662 section 2.2, with the claims that the token's scopes allow. */
async function describe(tx: Reader, { row, kind }: Found, context: Context): Promise<z.output<typeof Introspected>> {
  const scopes = kind === 'access' ? row.access_scopes : row.scopes
  return {
    active: true,
    token_type: kind === 'access' ? 'Bearer' : 'refresh_token',
    scope: scopes.join(' '),
    client_id: row.client_id,
    aud: row.audience,
    iss: issuerOf(context),
    exp: seconds(kind === 'access' ? row.access_expires_at : row.refresh_expires_at),
    iat: seconds(row.issued_at),
    ...(kind === 'access' && { jti: row.id }),
    ...(await claimsOf(tx, { userId: row.user_id, scopes, withKey: true }, context)),
  }
}

/**
 * Revokes a token (RFC 7009). A refresh token also revokes every token of the same code. An unknown token counts as revoked.
 * Returns problems like `introspectOidcToken`. Throws `unauthorized_client` for a token of a different client.
 */
export async function revokeOidcToken(tx: Writer, { client: sent, token }: SentToken, { clock }: Context) {
  const client = await authenticateClient(tx, sent, clock.now())
  if (client instanceof Problem) return client
  const access = await findOidcAccessToken(tx, token, clock.now())
  const row = access ?? (await findOidcRefreshToken(tx, token))
  if (!row) return undefined
  if (row.client_id !== client.id) throw problem('unauthorized_client')
  if (access) revokeOidcAccessToken(tx, access)
  else await endFamily(tx, row, clock.now())
  return undefined
}
