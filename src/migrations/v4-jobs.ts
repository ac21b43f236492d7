import { allRows } from '../storage/page.js'
import type { Writer } from '../storage/storage.js'
import { changeRows, type OlderRow, olderRows } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const jobsSteps: readonly MigrationStep[] = [
  { what: 'Names the queue in which each message has a place, or waits for one.', migrate: renameQueues },
  { what: 'Lets each process write its row anew.', migrate: removeLeases },
  { what: 'Waits for no event below the last one that webhooks got.', migrate: forgetMissing },
]

function renameQueues(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('outbox'), (message) => {
    const { taken_in, waits_in, ...rest } = message
    if (taken_in === undefined && waits_in === undefined) return message
    return {
      ...(rest as OlderRow),
      ...(taken_in !== undefined && { slot_of: taken_in }),
      ...(waits_in !== undefined && { queued_in: waits_in }),
    }
  })
}

/** They said which processes were alive. */
async function removeLeases(tx: Writer): Promise<void> {
  const leases = olderRows('leases')
  for await (const { id } of allRows(tx, leases, { index: 'id', prefix: [] })) tx.remove(leases, id)
}

/** Events land in the order of their ids. */
function forgetMissing(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('webhook_progress'), ({ missing: _, ...progress }) => progress as OlderRow)
}
