import { problem } from '../../base/problem.js'
import type { LaterRules, ProvenUser } from '../../http/context.js'
import { getOrNotFound } from '../../storage/existing.js'
import type { Writer } from '../../storage/storage.js'
import { setUnusedSince } from './clients/client.js'
import { type ConnectionRow, isConnectionValid, oidcConnections, removeConnection } from './connection.js'

/** Ends a connection and the app's pending requests. `actor` is who ended it. */
export async function endConnection(
  tx: Writer,
  connection: ConnectionRow,
  { actor, at }: { actor: string; at: number },
  { rules: { onDisconnect } }: { readonly rules: Pick<LaterRules, 'onDisconnect'> },
): Promise<void> {
  const { id, client_id } = connection
  for (const end of onDisconnect) await end(tx, { connectionId: id, at })
  await removeConnection(tx, connection, { actor, at })
  const [other] = await tx.find(oidcConnections, { index: 'byClient', prefix: [client_id], limit: 1 })
  if (!other) await setUnusedSince(tx, client_id, { unusedSince: at })
}

/** Ends one of the user's own connections. Throws `not_found`. */
export async function deleteConnection(
  tx: Writer,
  { id, userId, at }: { id: number; userId: number; at: number },
  context: { readonly rules: Pick<LaterRules, 'onDisconnect'> },
): Promise<void> {
  const row = await getOrNotFound(tx, oidcConnections, id, { user_id: userId })
  if (!(await isConnectionValid(tx, row))) throw problem('not_found')
  await endConnection(tx, row, { actor: `user:${userId}`, at }, context)
}

/** Ends connections of a user's former generations. Returns how many. */
export async function endConnectionsOf(
  tx: Writer,
  { userId, generation, most, at }: ProvenUser,
  context: { readonly rules: Pick<LaterRules, 'onDisconnect'> },
): Promise<number> {
  const oldest = await tx.find(oidcConnections, { index: 'byUser', prefix: [userId], limit: most })
  const ended = oldest.filter(({ user_generation }) => user_generation < generation)
  for (const connection of ended) await endConnection(tx, connection, { actor: 'service', at }, context)
  return ended.length
}
