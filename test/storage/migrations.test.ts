import { describe, expect, it, test } from 'vitest'
import { type State, StorageUnavailable } from '../../src/storage/storage.js'
import {
  changeRows,
  migrateState,
  type OlderRow,
  olderRows,
  pendingMigrations,
  type SchemaHistory,
  SchemaNewer,
  withMissing,
} from '../../src/storage/tables/migration.js'
import { serialStorage } from '../../src/storage/tables/serial.js'
import { Tables } from '../../src/storage/tables/tables.js'

const boxes = olderRows('boxes')
const grow = (row: OlderRow): OlderRow => ({ ...row, size: Number(row.size) * 2 })

/** Schema 2 says `size` in each box; schema 3 doubles it and keeps a lid in a collection of its own. */
const history = {
  current: 3,
  migrations: [
    {
      to: 2,
      what: 'Says how large a box is.',
      migrate: (tx) => changeRows(tx, boxes, (row) => withMissing(row, { size: 1 })),
    },
    { to: 3, what: 'Doubles it.', migrate: (tx) => changeRows(tx, boxes, grow) },
    {
      to: 3,
      what: 'Makes a lid.',
      async migrate(tx) {
        tx.put(olderRows('lids'), { id: await tx.nextId('lids') })
        tx.remove(boxes, 2)
      },
    },
  ],
} satisfies SchemaHistory

const older: State = { counters: { boxes: 2 }, rows: { boxes: [{ id: 1 }, { id: 2 }, { id: 3, size: 5 } as OlderRow] } }
const current: State = {
  schema: 3,
  counters: { boxes: 2, lids: 1 },
  rows: { boxes: [{ id: 1, size: 2 } as OlderRow, { id: 3, size: 10 } as OlderRow], lids: [{ id: 1 }] },
}

describe('a state', () => {
  it('of the first schema has no number, and goes through every migration in order', async () => {
    const before = JSON.stringify(older)
    expect(await migrateState(older, history)).toEqual(current)
    expect(JSON.stringify(older)).toBe(before)
  })

  it('runs only the migrations after its own schema', async () => {
    const { rows } = await migrateState({ ...older, schema: 2 }, history)
    expect(rows.boxes).toEqual([
      { id: 1, size: Number.NaN },
      { id: 3, size: 10 },
    ])
    expect(await migrateState(current, history)).toEqual(current)
  })

  it('of a newer release is refused by name and number', async () => {
    const refused = migrateState({ ...older, schema: 7 }, history, { what: 'data.json' })
    await expect(refused).rejects.toThrow(SchemaNewer)
    await expect(refused).rejects.toThrow(StorageUnavailable)
    await expect(refused).rejects.toThrow(
      'data.json was written by a newer farthing: schema 7, this one knows up to 3. Nothing was changed. Update farthing',
    )
  })

  it('names what it still needs', async () => {
    const whats = async (schema: number) =>
      (await pendingMigrations(history, { schema, what: 'It' })).map(({ what }) => what)
    expect(await whats(1)).toEqual(['Says how large a box is.', 'Doubles it.', 'Makes a lid.'])
    expect(await whats(2)).toEqual(['Doubles it.', 'Makes a lid.'])
    expect(await whats(3)).toEqual([])
  })

  it.each([0, 1.5, '2', null])('cannot have the schema %j', async (schema) => {
    const storage = serialStorage({ tables: new Tables(), history })
    await expect(storage.import({ ...older, schema } as State)).rejects.toThrow('"schema" must be a whole number')
    expect(await storage.export()).toEqual({ schema: 3, counters: {}, rows: {} })
  })
})

test('more rows than a page are changed, each once', async () => {
  const rows = Array.from({ length: 1201 }, (_, id) => ({ id, size: 1 }))
  const { rows: changed } = await migrateState({ schema: 2, counters: {}, rows: { boxes: rows } }, history)
  expect(changed.boxes).toHaveLength(1200)
  expect(changed.boxes?.every((row) => (row as OlderRow).size === 2)).toBe(true)
})

describe('a storage in memory', () => {
  it('migrates what it imports, and says its schema in what it exports', async () => {
    const storage = serialStorage({ tables: new Tables(), history })
    await storage.import(older)
    expect(await storage.export()).toEqual(current)
  })

  it('refuses what is newer, and keeps its rows', async () => {
    const storage = serialStorage({ tables: new Tables(), history })
    await storage.import(older)
    await expect(storage.import({ schema: 4, counters: {}, rows: {} })).rejects.toThrow(SchemaNewer)
    expect(await storage.export()).toEqual(current)
  })

  it('keeps its rows if a migration throws', async () => {
    const fault = new Error('no such box')
    const failing = {
      ...history,
      migrations: [...history.migrations, { to: 3, what: '', migrate: () => Promise.reject(fault) }],
    }
    const storage = serialStorage({ tables: new Tables(), history: failing })
    await storage.import(current)
    await expect(storage.import(older)).rejects.toBe(fault)
    expect(await storage.export()).toEqual(current)
  })
})
