import type { Writer } from '../storage/storage.js'
import { changeRows, olderRows, withMissing } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const identitySteps: readonly MigrationStep[] = [
  { what: 'Says of each session which client credentials it was made with.', migrate: fillSessions },
]

/** Nobody knows with which. The sessions expire within a day. */
function fillSessions(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('sessions'), (session) => withMissing(session, { client_id: null }))
}
