import type { SchemaHistory } from '../storage/tables/migration.js'
import { toV2 } from './v2.js'
import { toV3 } from './v3.js'
import { toV4 } from './v4.js'

/**
 * The number of the shapes in which this release stores rows. Whoever changes a shape counts it up and adds a migration
 * to `src/migrations/`, once per release.
 */
export const SCHEMA = 4

/** What every storage needs to open a state of an older release. */
export const schemaHistory: SchemaHistory = { current: SCHEMA, migrations: [...toV2, ...toV3, ...toV4] }
