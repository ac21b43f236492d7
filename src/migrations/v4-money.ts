import type { Writer } from '../storage/storage.js'
import { changeRows, olderRows, withMissing } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const moneySteps: readonly MigrationStep[] = [
  { what: 'Says of each reservation of supply whose limits it counts against.', migrate: fillReservations },
]

/** It is unknown who caused an older one. It ends within days. */
function fillReservations(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('reservations'), (reservation) => withMissing(reservation, { maker: null }))
}
