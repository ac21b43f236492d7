import type { Reader } from '../storage/storage.js'
import { type Migration, olderRows } from '../storage/tables/migration.js'

/** A migration of one feature. The schema that it leads to is its folder's. */
export type MigrationStep = Omit<Migration, 'to'>

/** The latest time that a state knows: that of its last event. A migration has no clock. */
export async function lastTime(tx: Reader): Promise<number | undefined> {
  const [last] = await tx.find(olderRows('events'), { index: 'id', prefix: [], limit: 1, reverse: true })
  return typeof last?.created_at === 'number' ? last.created_at : undefined
}
