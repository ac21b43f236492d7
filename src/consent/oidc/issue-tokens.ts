import { digest, randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { subjectOf, users } from '../../identity/users/user.js'
import { getExisting } from '../../storage/existing.js'
import type { Writer } from '../../storage/storage.js'
import { issuerOf } from './issuer.js'
import { sign } from './keys.js'
import { ACCESS_LIFETIME, type OidcTokenRow, oidcTokens, REFRESH_LIFETIME } from './token.js'

type Context = Pick<ServiceContext, 'random' | 'keys' | 'baseUrl'>

/** What tokens are issued for. */
export type Grant = Pick<
  OidcTokenRow,
  | 'family_id'
  | 'connection_id'
  | 'generation'
  | 'client_id'
  | 'user_id'
  | 'scopes'
  | 'audience'
  | 'resource'
  | 'auth_time'
  | 'amr'
>

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
