import { problem } from '../../base/problem.js'
import type { LaterRules, ProvenUser, ServiceContext } from '../../http/context.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { getOrNotFound } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { CLIENT_DELETED, type OidcClientRow, oidcClients, setUnusedSince } from './clients/client.js'
import { type ConnectionRow, isConnectionValid, oidcConnections, removeConnection } from './connection.js'

type Disconnecting = { readonly rules: Pick<LaterRules, 'onDisconnect'> }
type Deleting = Pick<ServiceContext, 'clock' | 'rules'>

/** Ends a connection and the app's pending requests. `actor` is who ended it. */
export async function endConnection(
  tx: Writer,
  connection: ConnectionRow,
  { actor, at }: { actor: string; at: number },
  { rules: { onDisconnect } }: Disconnecting,
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
  context: Disconnecting,
): Promise<void> {
  const row = await getOrNotFound(tx, oidcConnections, id, { user_id: userId })
  if (!(await isConnectionValid(tx, row))) throw problem('not_found')
  await endConnection(tx, row, { actor: `user:${userId}`, at }, context)
}

/** Ends connections of a user's former generations. Returns how many. */
export async function endConnectionsOf(
  tx: Writer,
  { userId, generation, most, at }: ProvenUser,
  context: Disconnecting,
) {
  const oldest = await tx.find(oidcConnections, { index: 'byUser', prefix: [userId], limit: most })
  const ended = oldest.filter(({ user_generation }) => user_generation < generation)
  for (const connection of ended) await endConnection(tx, connection, { actor: 'service', at }, context)
  return ended.length
}

const ENDED_AT_ONCE = 10

/** Deletes a client. Every connection to it is dead at once, and removed in slices. */
export async function deleteClient(tx: Writer, client: OidcClientRow, context: Deleting) {
  tx.put(oidcClients, { ...client, deleted_at: context.clock.now() })
  await endDeletedClient(tx, client.id, context)
}

/** Goes on to end the connections of a deleted client. */
export async function endDeletedClient(tx: Writer, id: string, context: Deleting) {
  const at = context.clock.now()
  const some = await tx.find(oidcConnections, { index: 'byClient', prefix: [id], limit: ENDED_AT_ONCE })
  for (const connection of some) await endConnection(tx, connection, { actor: id, at }, context)
  if (some.length < ENDED_AT_ONCE) tx.remove(oidcClients, id)
  else await setTimer(tx, { kind: CLIENT_DELETED, subject: id, at, now: at })
}
