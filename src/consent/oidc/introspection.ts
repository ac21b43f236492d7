import { Problem, problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { z } from '../../http/fields/schema.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { claimsOf } from './claims.js'
import { authenticateClient, type SentClient } from './clients/client.js'
import { endFamily, isFamilyAlive } from './connection.js'
import { issuerOf } from './issuer.js'
import type { Introspected } from './schema.js'
import {
  findOidcAccessToken,
  findOidcRefreshToken,
  isOidcRefreshCurrent,
  type OidcTokenRow,
  revokeOidcAccessToken,
} from './token.js'

type Context = Pick<ServiceContext, 'keys' | 'baseUrl' | 'clock' | 'options'>
type SentToken = { readonly client: SentClient; readonly token: string }

/** RFC 7662 section 2.2, with the claims that the token's scopes allow. */
type Introspection = z.output<typeof Introspected>

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

async function describe(tx: Reader, { row, kind }: Found, context: Context): Promise<Introspection> {
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
