import type { Reader } from '../storage/storage.js'
import { type ConnectionRow, grantedAccountId, oidcConnections } from './connection.js'
import { isInterface } from './issuer.js'
import { findAccess, type OidcTokenRow } from './token.js'

/** Whose agent an access token makes its bearer at the interface, or at one resource of the service's, or undefined: also for one that is for another audience. */
export async function findAgentToken(
  tx: Reader,
  accessToken: string,
  { at, baseUrl, resource }: { at: number; baseUrl: string; resource: string | undefined },
): Promise<{ token: OidcTokenRow; connection: ConnectionRow; accountId: number | null } | undefined> {
  const token = await findAccess(tx, accessToken, at)
  if (!token || (token.audience !== resource && !isInterface(token.audience, { baseUrl }))) return undefined
  const connection = await tx.get(oidcConnections, token.connection_id)
  return connection && { token, connection, accountId: await grantedAccountId(tx, connection) }
}
