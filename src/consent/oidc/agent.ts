import { problem } from '../../base/problem.js'
import { ReadOnce } from '../../storage/read-once.js'
import type { Reader } from '../../storage/storage.js'
import { type ConnectionRow, findConnection, grantedAccountId, isInFamily } from './connection.js'
import { isInterfaceAudience } from './issuer.js'
import { findOidcAccessToken, type OidcTokenRow } from './token.js'

/**
 * Finds the connection of an access token for the interface or for `resource`. Returns only the audience of a token that is for
 * something else, and undefined for an unknown or expired one.
 */
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

/**
 * What a user currently grants an agent. A call that waited must read it again in the transaction in which it acts.
 * Throws `token_invalid` if the app is disconnected.
 */
export async function currentGrant(
  tx: Reader,
  { connection_id }: { readonly connection_id: number },
): Promise<{ account_id: number | null }> {
  const read = new ReadOnce(tx)
  const connection = await findConnection(read, connection_id)
  if (!connection)
    throw problem('token_invalid', { detail: 'The user disconnected the app. Ask the user to connect it again.' })
  return { account_id: await grantedAccountId(read, connection) }
}
