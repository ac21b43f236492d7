import type { Reader } from '../storage/storage.js'
import { changeRows, type Migration, type OlderRow, olderRows, withMissing } from '../storage/tables/migration.js'

type Fields = Readonly<Record<string, unknown>>

/** A migration of one feature, without the schema that it leads to. */
export type MigrationStep = Omit<Migration, 'to'>

/** A step that gives rows of these collections the fields that they lack. */
export const filling = (
  what: string,
  missing: Readonly<Record<string, Fields | ((row: OlderRow) => Fields)>>,
): MigrationStep => ({
  what,
  async migrate(tx) {
    for (const [name, fields] of Object.entries(missing))
      await changeRows(tx, olderRows(name), (row) =>
        withMissing(row, typeof fields === 'function' ? fields(row) : fields),
      )
  },
})

/** The latest time that a state knows: that of its last event. A migration has no clock. */
export async function lastTime(tx: Reader): Promise<number | undefined> {
  const [last] = await tx.find(olderRows('events'), { index: 'id', prefix: [], limit: 1, reverse: true })
  return typeof last?.created_at === 'number' ? last.created_at : undefined
}
