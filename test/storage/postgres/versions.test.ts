import { expect, test } from 'vitest'
import { collection, StorageUnavailable } from '../../../src/storage/storage.js'
import { changeRows, olderRows, type SchemaHistory, SchemaNewer } from '../../../src/storage/tables/migration.js'
import { onPostgres } from '../../support/storage/postgres.js'
import { newSchema } from '../../support/storage/shared-url.js'
import { type Note, notes } from '../../support/storage/storage-model.js'

const first: SchemaHistory = { current: 1, migrations: [] }
const second: SchemaHistory = {
  current: 2,
  migrations: [
    {
      to: 2,
      what: 'Notes have an owner.',
      migrate: (tx) => changeRows(tx, olderRows('notes'), (row) => ({ ...row, owner: 'migrated' })),
    },
  ],
}
const byBody = collection<Note>()('notes', { byBody: { fields: ['body'] } })

await onPostgres('A database of another release', (database) => {
  test('is migrated once, with a copy beside it, and the older process stops writing', async () => {
    const schema = newSchema()
    const older = await database.open({ schema, collections: [notes], history: first })
    await older.write(async (tx) => [1, 2].forEach((id) => tx.put(notes, { id })))
    const open = () => database.open({ schema, collections: [notes], history: second })
    const [newer, other] = await Promise.all([open(), open()])
    const query = { index: 'byOwner', prefix: ['migrated'], limit: 9 } as const
    expect(await newer.read((tx) => tx.find(notes, query))).toHaveLength(2)
    expect(await database.sql(`select row from ${schema}_v1.notes order by id`)).toEqual([
      { row: { id: 1 } },
      { row: { id: 2 } },
    ])
    await expect(older.write(async (tx) => tx.put(notes, { id: 3 }))).rejects.toThrow(StorageUnavailable)
    await expect(older.read((tx) => tx.get(notes, 1))).rejects.toThrow(StorageUnavailable)
    expect((await other.export()).rows.notes).toHaveLength(2)
    await expect(database.open({ schema, collections: [notes], history: first })).rejects.toThrow(SchemaNewer)
    for (const storage of [older, newer, other]) await storage.close()
  })

  test('gets the indexes of this one, and loses those that nobody declares', async () => {
    const schema = newSchema()
    const before = await database.open({ schema, collections: [notes] })
    await before.write(async (tx) => ['x', 'y', 'x'].forEach((body, id) => tx.put(notes, { id, owner: 'o', body })))
    const after = await database.open({ schema, collections: [byBody] })
    const found = await after.read((tx) => tx.find(byBody, { index: 'byBody', prefix: ['x'], limit: 9 }))
    expect(found.map(({ id }) => id)).toEqual([0, 2])
    await expect(before.write(async (tx) => tx.put(notes, { id: 9 }))).rejects.toThrow(StorageUnavailable)
    const columns = await database.sql(
      `select attname from pg_attribute where attrelid = '${schema}.notes'::regclass and attnum > 0 and not attisdropped`,
    )
    expect(columns.map(({ attname }) => attname)).toEqual(['id', 'row', 'by body'])
    for (const storage of [before, after]) await storage.close()
  })
})
