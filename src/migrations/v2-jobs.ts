import type { Writer } from '../storage/storage.js'
import { changeRows, olderRows, withMissing } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const jobsToV2: readonly MigrationStep[] = [
  { what: 'Lets the next start encrypt the messages of the outbox.', migrate: markClearMessages },
  { what: 'Says of each charge of a card whose limits it counts against.', migrate: fillCharges },
  { what: 'Says since when each waiting message is due.', migrate: fillMessages },
  { what: 'Says of each idempotent call that nobody can tell whether its service is alive.', migrate: fillCalls },
]

/** Reads whether one is stored in clear, because only the service has the key. */
async function markClearMessages(tx: Writer): Promise<void> {
  let areClear = false
  await changeRows(tx, olderRows('outbox'), (message) => {
    areClear ||= message.sealed === undefined
    return message
  })
  if (areClear) tx.put(olderRows('settings'), { id: 'clear_rows', value: ['outbox'] })
}

function fillCharges(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('outbox'), (message) =>
    message.kind === 'card' ? withMissing(message, { subjects: [] }) : message,
  )
}

/** Nobody knows when a message was last set. It was not before it was written. */
function fillMessages(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('outbox'), (message) =>
    withMissing(message, { due_set_at: message.due_at === null ? null : message.created_at }),
  )
}

function fillCalls(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('idempotency'), (call) => withMissing(call, { attended: false }))
}
