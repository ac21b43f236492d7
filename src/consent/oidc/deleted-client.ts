import type { ServiceContext } from '../../http/context.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import type { Writer } from '../../storage/storage.js'
import { CLIENT_DELETED, type OidcClientRow, oidcClients } from './clients/client.js'
import { oidcConnections } from './connection.js'
import { endConnection } from './disconnect.js'

/** How many connections one transaction ends. */
const ENDED_AT_ONCE = 10

/** Deletes a client. Every connection to it is dead at once, and removed in slices. */
export async function deleteClient(
  tx: Writer,
  client: OidcClientRow,
  context: Pick<ServiceContext, 'clock' | 'rules'>,
): Promise<void> {
  tx.put(oidcClients, { ...client, deleted_at: context.clock.now() })
  await endSome(tx, client.id, context)
}

/** Goes on to end the connections of a deleted client. */
export const endDeletedClient: TimerJob = (tx, subject, service) => endSome(tx, subject, service)

async function endSome(tx: Writer, id: string, context: Pick<ServiceContext, 'clock' | 'rules'>): Promise<void> {
  const at = context.clock.now()
  const some = await tx.find(oidcConnections, { index: 'byClient', prefix: [id], limit: ENDED_AT_ONCE })
  for (const connection of some) await endConnection(tx, connection, { actor: id, at }, context)
  if (some.length < ENDED_AT_ONCE) tx.remove(oidcClients, id)
  else await setTimer(tx, { kind: CLIENT_DELETED, subject: id, at, now: at })
}
