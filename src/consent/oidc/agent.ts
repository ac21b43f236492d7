import { problem } from '../../base/problem.js'
import type { Reader } from '../../storage/storage.js'
import { type ConnectionRow, grantedAccountId, oidcConnections } from './connection.js'
import { isInterfaceAudience } from './issuer.js'
import { findOidcAccessToken, type OidcTokenRow } from './token.js'

/**
 * Whose agent an access token makes its bearer at the interface, or at one resource of the service's; the audience alone of one
 * that is good elsewhere only, and undefined for none.
 */
export async function findAgentToken(
  tx: Reader,
  accessToken: string,
  { at, baseUrl, resource }: { at: number; baseUrl: string; resource: string | undefined },
): Promise<
  { token: OidcTokenRow; connection: ConnectionRow; accountId: number | null } | { audience: string } | undefined
> {
  const token = await findOidcAccessToken(tx, accessToken, at)
  const connection = token && (await tx.get(oidcConnections, token.connection_id))
  if (!connection) return undefined
  const { audience } = token
  if (audience !== resource && !isInterfaceAudience(audience, { baseUrl })) return { audience }
  return { token, connection, accountId: await grantedAccountId(tx, connection) }
}

/**
 * What an agent's user grants it at this moment: a call that waited reads it again in the transaction in which it acts.
 * Throws `token_invalid` once the app is disconnected.
 */
export async function currentGrant(
  tx: Reader,
  { connection_id }: { readonly connection_id: number },
): Promise<{ account_id: number | null }> {
  const connection = await tx.get(oidcConnections, connection_id)
  if (!connection) throw problem('token_invalid', { detail: 'The user disconnected the app.' })
  return { account_id: await grantedAccountId(tx, connection) }
}
