import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import { allRows } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { setUnusedSince } from './clients/client.js'
import { type ConnectionRow, oidcConnections } from './connection.js'

/**
 * Ends a connection and the app's pending requests. Its tokens and codes are dead without it, and the sweep removes them
 * later. `actor` is who ended it.
 */
export async function endConnection(
  tx: Writer,
  { id, user_id, client_id }: ConnectionRow,
  { actor, at }: { actor: string; at: number },
  { onDisconnect }: Pick<ServiceContext, 'onDisconnect'>,
): Promise<void> {
  for (const end of onDisconnect) await end(tx, { connectionId: id, at })
  tx.remove(oidcConnections, id)
  const [other] = await tx.find(oidcConnections, { index: 'byClient', prefix: [client_id], limit: 1 })
  if (!other) await setUnusedSince(tx, client_id, { unusedSince: at })
  const data = { client_id }
  await recordEvent(tx, {
    owners: [`user:${user_id}`],
    type: 'connection.deleted',
    actor,
    subject: `connection:${id}`,
    data,
    at,
  })
}

/** Ends one of the user's own connections. Throws `not_found`. */
export async function deleteConnection(
  tx: Writer,
  { id, userId, at }: { id: number; userId: number; at: number },
  context: Pick<ServiceContext, 'onDisconnect'>,
): Promise<void> {
  const row = await tx.get(oidcConnections, id)
  if (!row || row.user_id !== userId) throw problem('not_found')
  await endConnection(tx, row, { actor: `user:${userId}`, at }, context)
}

/** Ends every connection of a user. Returns how many there were. */
export async function endConnectionsOf(
  tx: Writer,
  { userId, at }: { userId: number; at: number },
  context: Pick<ServiceContext, 'onDisconnect'>,
): Promise<number> {
  let count = 0
  for await (const connection of allRows(tx, oidcConnections, { index: 'byUser', prefix: [userId] })) {
    await endConnection(tx, connection, { actor: 'service', at }, context)
    count++
  }
  return count
}
