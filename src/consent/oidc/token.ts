import { memoize } from '../../base/memo.js'
import { digest, randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { allRows } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { oidcCodes } from './code.js'
import { issuerOf } from './issuer.js'
import { sign } from './keys.js'

const HOUR = 3_600_000
export const ACCESS_LIFETIME = HOUR
const REFRESH_LIFETIME = 24 * HOUR

/** An access token, and its refresh token if it has one. All tokens of one code are a family. The id is the access token's `jti`. */
export interface OidcTokenRow {
  readonly id: string
  readonly family_id: string
  readonly connection_id: number
  readonly client_id: string
  readonly user_id: number
  /** All scopes of the family. A refresh token can request them again. */
  readonly scopes: readonly string[]
  /** The scopes of the access token. */
  readonly access_scopes: readonly string[]
  readonly audience: string
  /** The resource of the authorization. If null, a token request can name any resource. */
  readonly resource: string | null
  /** When and how the user signed in. Later id tokens repeat it. */
  readonly auth_time: number
  readonly amr: readonly string[]
  /** Null once it is revoked. */
  readonly access_digest: string | null
  readonly issued_at: number
  readonly access_expires_at: number
  /** Null if no refresh token was issued. */
  readonly refresh_digest: string | null
  /** A used refresh token stays stored, so that its reuse is noticed. */
  readonly refresh_used: boolean
  readonly refresh_expires_at: number
}

export const oidcTokens = collection<OidcTokenRow>()('oidc_tokens', {
  byAccess: { fields: ['access_digest'], unique: true },
  byRefresh: { fields: ['refresh_digest'], unique: true },
  byFamily: { fields: ['family_id'] },
  byConnection: { fields: ['connection_id', 'issued_at'] },
})

/** What tokens are issued for. */
export type Grant = Pick<
  OidcTokenRow,
  'family_id' | 'connection_id' | 'client_id' | 'user_id' | 'scopes' | 'audience' | 'resource' | 'auth_time' | 'amr'
>

type Context = Pick<ServiceContext, 'random' | 'keys' | 'baseUrl'>

/** Issues an access token (RFC 9068) for `scopes`, and a refresh token for the whole grant if it includes `offline_access`. */
export async function issueTokens(
  tx: Writer,
  grant: Grant,
  { scopes, at }: { scopes: readonly string[]; at: number },
  context: Context,
): Promise<{ access_token: string; refresh_token?: string }> {
  const id = randomHex(context.random, 16)
  const issued_at = seconds(at) * 1000
  const access_token = await sign(
    tx,
    { claims: accessClaims(id, { ...grant, scopes }, issued_at, context), type: 'at+jwt', at },
    context,
  )
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
  sub: String(grant.user_id),
  aud: grant.audience,
  client_id: grant.client_id,
  scope: grant.scopes.join(' '),
  auth_time: seconds(grant.auth_time),
  iat: seconds(at),
  exp: seconds(at + ACCESS_LIFETIME),
  jti,
})

/** An agent sends the same access token many times. */
const accessDigest = memoize(digest, 2 << 20)

/** Finds an access token that has not expired. The lookup uses the whole token, so its signature does not matter. */
export async function findOidcAccessToken(
  tx: Reader,
  accessToken: string,
  at: number,
): Promise<OidcTokenRow | undefined> {
  const [row] = await tx.find(oidcTokens, { index: 'byAccess', prefix: [accessDigest(accessToken)], limit: 1 })
  return row && row.access_expires_at > at ? row : undefined
}

export async function findOidcRefreshToken(tx: Reader, refreshToken: string): Promise<OidcTokenRow | undefined> {
  const [row] = await tx.find(oidcTokens, { index: 'byRefresh', prefix: [digest(refreshToken)], limit: 1 })
  return row
}

/** Whether tokens that were issued together are unused, not revoked and not all expired. */
export async function areTokensUnused(
  tx: Reader,
  { access_token, refresh_token }: { access_token: string; refresh_token?: string | undefined },
  at: number,
): Promise<boolean> {
  const [row] = await tx.find(oidcTokens, { index: 'byAccess', prefix: [digest(access_token)], limit: 1 })
  if (!row || row.refresh_used) return false
  return at < (refresh_token === undefined ? row.access_expires_at : row.refresh_expires_at)
}

export const revokeOidcAccessToken = (tx: Writer, row: OidcTokenRow): void =>
  tx.put(oidcTokens, { ...row, access_digest: null })

/** Deletes every token of one code. */
export async function revokeOidcFamily(tx: Writer, familyId: string): Promise<void> {
  for await (const { id } of allRows(tx, oidcTokens, { index: 'byFamily', prefix: [familyId] }))
    tx.remove(oidcTokens, id)
}

/** Deletes every token and code of a connection. */
export async function revokeConnection(tx: Writer, connectionId: number): Promise<void> {
  const prefix = [connectionId]
  for await (const { id } of allRows(tx, oidcTokens, { index: 'byConnection', prefix })) tx.remove(oidcTokens, id)
  for await (const { id } of allRows(tx, oidcCodes, { index: 'byConnection', prefix })) tx.remove(oidcCodes, id)
}

/** Deletes expired tokens of a connection, a few at a time, oldest first. */
export async function removeExpiredTokens(tx: Writer, connectionId: number, at: number): Promise<void> {
  for (const old of await tx.find(oidcTokens, { index: 'byConnection', prefix: [connectionId], limit: 20 }))
    if (old.access_expires_at <= at && (old.refresh_digest === null || old.refresh_expires_at <= at))
      tx.remove(oidcTokens, old.id)
}
