import type { Migration } from '../storage/tables/migration.js'

/** From the second schema to the third, which adds webhooks. Rows of older collections stay as they are. */
export const toV3: readonly Migration[] = []
