import { balances } from './balance.js'
import { entries, movements } from './movement.js'
import { reservations } from './reservation.js'

export const ledgerFeature = {
  collections: [balances, movements, entries, reservations],
}
