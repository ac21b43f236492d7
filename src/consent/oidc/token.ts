import { memoize } from '../../base/memo.js'
import { problem } from '../../base/problem.js'
import { base64url, digest } from '../../base/secrets.js'
import { isCurrent } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type ConnectionRow, findConnection, grantedAccountId, isFamilyAlive, isInFamily } from './connection.js'
import { isInterfaceAudience } from './issuer.js'

const AUTHORIZATION_CODE_MS = 60_000
/** How long a used code is stored. Its tokens live no longer, so any reuse that matters is noticed. */
const STORED_FOR = 25 * 3_600_000

/** An authorization code. The id is its digest. */
export interface OidcCodeRow {
  readonly id: string
  readonly connection_id: number
  /** Of the connection, when the code was issued. */
  readonly generation: number
  readonly client_id: string
  readonly user_id: number
  readonly redirect_uri: string
  /** The S256 challenge (RFC 7636). Null if a confidential client sent none. */
  readonly code_challenge: string | null
  readonly scopes: readonly string[]
  readonly resource: string | null
  readonly nonce: string | null
  readonly auth_time: number
  readonly amr: readonly string[]
  readonly expires_at: number
  /** The family of its tokens. Null until the code is used. */
  readonly family_id: string | null
}

export const oidcCodes = collection<OidcCodeRow>()(
  'oidc_codes',
  { byExpiry: { fields: ['expires_at'] } },
  {
    refs: { client_id: 'oidc_clients', connection_id: 'oidc_connections', family_id: null, user_id: 'users' },
    secrets: ['id', 'family_id', 'code_challenge', 'nonce'],
    growth: {
      by: 'a user, by connecting an app',
      bound: 'One for each answer to a page that asks. It ends after 25 hours.',
    },
    retention: { after: 'the code expires', keepMs: STORED_FOR, index: 'byExpiry' },
  },
)

/** Issues a code that works once, within a minute. */
export async function issueCode(
  tx: Writer,
  facts: Omit<OidcCodeRow, 'id' | 'expires_at' | 'family_id'>,
  at: number,
  { random }: Pick<ServiceContext, 'random'>,
): Promise<string> {
  const code = base64url(random.bytes(32))
  tx.put(oidcCodes, { id: digest(code), ...facts, expires_at: at + AUTHORIZATION_CODE_MS, family_id: null })
  return code
}

export const isAuthorizationCodeCurrent = ({ expires_at }: OidcCodeRow, at: number): boolean =>
  isCurrent(expires_at, AUTHORIZATION_CODE_MS, at)

export const findCode = (tx: Reader, code: string): Promise<OidcCodeRow | undefined> => tx.get(oidcCodes, digest(code))

export const spendAuthorizationCode = (tx: Writer, row: OidcCodeRow, familyId: string): void =>
  tx.put(oidcCodes, { ...row, family_id: familyId })

/** How long an access token is valid, in milliseconds. */
export const ACCESS_LIFETIME = 3_600_000
export const REFRESH_LIFETIME = 24 * ACCESS_LIFETIME

/** An access token, and its refresh token if it has one. All tokens of one code are a family. The id is the access token's `jti`. */
export interface OidcTokenRow {
  readonly id: string
  readonly family_id: string
  readonly connection_id: number
  /** Of the connection, when its code was issued. */
  readonly generation: number
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

export const oidcTokens = collection<OidcTokenRow>()(
  'oidc_tokens',
  {
    byAccess: { fields: ['access_digest'], unique: true },
    byRefresh: { fields: ['refresh_digest'], unique: true },
    byEnd: { fields: ['refresh_expires_at'] },
    byConnection: { fields: ['connection_id', 'issued_at'] },
  },
  {
    refs: { client_id: 'oidc_clients', connection_id: 'oidc_connections', family_id: null, user_id: 'users' },
    secrets: ['id', 'family_id', 'access_digest', 'refresh_digest'],
    growth: { by: 'an app', bound: 'One for each code, and one for each refresh token, which works once.' },
    retention: { after: 'the refresh token expires', keepMs: 0, index: 'byEnd' },
  },
)

/** An agent sends the same access token many times. */
const accessDigest = memoize(digest, 2 << 20)

/** Finds a current access token. Its family may have ended (`isInFamily`). The whole token is looked up, so its signature does not matter. */
export async function findOidcAccessToken(tx: Reader, accessToken: string, at: number) {
  const [row] = await tx.find(oidcTokens, { index: 'byAccess', prefix: [accessDigest(accessToken)], limit: 1 })
  return row && isOidcAccessCurrent(row, at) ? row : undefined
}

const isOidcAccessCurrent = ({ access_expires_at }: OidcTokenRow, at: number): boolean =>
  isCurrent(access_expires_at, ACCESS_LIFETIME, at)

export const isOidcRefreshCurrent = ({ refresh_expires_at }: OidcTokenRow, at: number): boolean =>
  isCurrent(refresh_expires_at, REFRESH_LIFETIME, at)

/** Finds a refresh token whose family has not ended, even if it is used or has expired. */
export async function findOidcRefreshToken(tx: Reader, refreshToken: string): Promise<OidcTokenRow | undefined> {
  const [row] = await tx.find(oidcTokens, { index: 'byRefresh', prefix: [digest(refreshToken)], limit: 1 })
  return row && (await isFamilyAlive(tx, row)) ? row : undefined
}

/** Whether tokens that were issued together are unused, not revoked and not all expired. */
export async function areTokensUnused(
  tx: Reader,
  { access_token, refresh_token }: { access_token: string; refresh_token?: string | undefined },
  at: number,
): Promise<boolean> {
  const [row] = await tx.find(oidcTokens, { index: 'byAccess', prefix: [digest(access_token)], limit: 1 })
  if (!row || row.refresh_used || !(await isFamilyAlive(tx, row))) return false
  return refresh_token === undefined ? isOidcAccessCurrent(row, at) : isOidcRefreshCurrent(row, at)
}

export const revokeOidcAccessToken = (tx: Writer, row: OidcTokenRow): void =>
  tx.put(oidcTokens, { ...row, access_digest: null })

/** The connection of an access token for the interface or `resource`. Only the audience of one for something else. Undefined if it ended. */
export async function findAgentToken(
  tx: Reader,
  accessToken: string,
  { at, baseUrl, resource }: { at: number; baseUrl: string; resource: string | undefined },
): Promise<
  { token: OidcTokenRow; connection: ConnectionRow; accountId: number | null } | { audience: string } | undefined
> {
  const read = new ReadOnce(tx)
  const token = await findOidcAccessToken(read, accessToken, at)
  const connection = token && (await findConnection(read, token.connection_id))
  if (!token || !isInFamily(connection, token)) return undefined
  const { audience } = token
  if (audience !== resource && !isInterfaceAudience(audience, { baseUrl })) return { audience }
  return { token, connection, accountId: await grantedAccountId(read, connection) }
}

/** What a user grants an agent now. A call that waited must read it again where it acts. Throws `token_invalid` after a disconnect. */
export async function currentGrant(tx: Reader, { connection_id }: { readonly connection_id: number }) {
  const read = new ReadOnce(tx)
  const connection = await findConnection(read, connection_id)
  if (!connection)
    throw problem('token_invalid', { detail: 'The user disconnected the app. Ask the user to connect it again.' })
  return { account_id: await grantedAccountId(read, connection) }
}
