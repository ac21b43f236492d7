import { load } from '../base/parts.js'
import type { SchemaHistory } from '../storage/tables/migration.js'

/**
 * The number of the shapes in which this release stores rows. Whoever changes a shape counts it up and adds a migration
 * to `src/migrations/`, once per release.
 */
export const SCHEMA = 4

/** What every storage needs to open a state of an older release. */
export const schemaHistory: SchemaHistory = {
  current: SCHEMA,
  // Few states are older.
  migrations: () => load(async () => (await import('./steps.js')).migrations),
}
