import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { collection, type Key, type Row, type Storage } from '../../src/storage/storage.js'
import { Table } from '../../src/storage/tables/table.js'

interface Entry extends Row {
  readonly twin: string
}
const entries = collection<Entry>()('entries', { byTwin: { fields: ['twin'] } })

const TWINS = ['a', 'b', 'c']
const MANY = 12_000
const twinOf = (n: number): string => TWINS[n % TWINS.length] ?? 'a'

/** A storage whose index nobody has asked for yet. Some rows have no number. */
async function filled(rerun = false): Promise<Storage> {
  const storage = memoryStorage({ rerun })
  await storage.write(async (tx) => {
    for (let id = 1; id <= MANY; id++) tx.put(entries, { id, twin: twinOf(id) })
    for (let n = 0; n < 1500; n++) tx.put(entries, { id: `named ${n}`, twin: twinOf(n) })
  })
  return storage
}

const ofTwin = (storage: Storage, twin: string): Promise<Entry[]> =>
  storage.read((tx) => tx.find(entries, { index: 'byTwin', prefix: [twin], limit: MANY }))

/** The same rows in a storage that has its index from the first row on. */
async function inOrder(storage: Storage, twin: string): Promise<Entry[]> {
  const { rows } = await storage.export()
  const other = memoryStorage()
  await ofTwin(other, twin)
  const all = (rows.entries ?? []) as Entry[]
  await other.write(async (tx) => all.forEach((row) => tx.put(entries, row)))
  return ofTwin(other, twin)
}

describe('An index of many rows that is asked for the first time', () => {
  test('is built in slices, and others write meanwhile what it then has', async () => {
    const storage = await filled()
    let isFound = false
    const finding = ofTwin(storage, 'a').finally(() => (isFound = true))
    let written = 0
    for (; !isFound; written++) {
      const id: Key = [written * 7 + 1, `named ${written}`, MANY + 1 + written][written % 3] ?? 0
      await storage.write(async (tx) => {
        if (written % 4 === 3) tx.remove(entries, id)
        else tx.put(entries, { id, twin: twinOf(written) })
      })
      await new Promise((resolve) => setTimeout(resolve, 0))
    }
    // A slice has 500 rows.
    expect(written).toBeGreaterThan((MANY / 500) * 0.5)
    await finding
    for (const twin of TWINS) {
      const expected = await inOrder(storage, twin)
      expect(await ofTwin(storage, twin)).toEqual(expected)
      expect(expected.length).toBeGreaterThan(4000)
    }
  })

  test('is waited for by every body that reads it, which runs again and writes once', async () => {
    const storage = await filled(true)
    let runs = 0
    const count = () =>
      storage.write(async (tx) => {
        runs++
        // A body may catch what it does not know.
        const found = await tx.find(entries, { index: 'byTwin', prefix: ['b'], limit: MANY }).catch(() => [])
        const id = await tx.nextId('counts')
        tx.put(entries, { id: `count ${id}`, twin: String(found.length) })
      })
    await Promise.all([count(), count(), ofTwin(storage, 'b')])
    expect(runs).toBeGreaterThan(4)
    const { rows } = await storage.export()
    expect(rows.entries?.filter(({ id }) => String(id).startsWith('count'))).toMatchObject([
      { twin: '4500' },
      { twin: '4500' },
    ])
  })

  test('is whole for an import’s check, which runs once', async () => {
    const storage = await filled()
    let runs = 0
    await storage.import(await storage.export(), {
      async check(former) {
        runs++
        expect(await former.find(entries, { index: 'byTwin', prefix: ['c'], limit: MANY })).toHaveLength(4500)
      },
    })
    expect(runs).toBe(1)
  })

  test('is built anew after its rows could not be read', async () => {
    const table = new Table()
    const stored = [{ id: 512, twin: 'a' }]
    let isDamaged = true
    table.rows.addUnread({
      ...{ first: 512, count: MANY, parts: () => stored },
      read() {
        if (isDamaged) throw new Error('the disk')
        return stored
      },
    })
    const query = { index: 'byTwin', prefix: ['a'], limit: 1 }
    expect(table.find(entries, query, true)).toBeUndefined()
    await expect(table.grow(entries, 'byTwin')).rejects.toThrow('the disk')
    isDamaged = false
    await table.grow(entries, 'byTwin')
    expect(table.find(entries, query, true)).toEqual(stored)
  })
})
