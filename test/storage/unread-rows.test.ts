import { readFile, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { partsBeside } from '../../adapters/storage/file/journal-part.js'
import { parsedRows } from '../../adapters/storage/file/row-line.js'
import { compareParts } from '../../src/storage/key.js'
import type { Key, Row } from '../../src/storage/storage.js'
import { ROWS_PER_CHUNK, Rows } from '../../src/storage/tables/rows.js'
import { howMuch } from '../support/how-much.js'
import { useFileStorages } from '../support/storage/file-storages.js'
import { type Note, notes } from '../support/storage/storage-model.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, leave } = storages

const COUNT = 3 * ROWS_PER_CHUNK
const note = (id: number): Note => ({
  id,
  owner: `owner ${id % 7}`,
  rank: id,
  body: { texts: ['"', '\\"', `[{é${id}`] },
})

/** A closed storage with many rows in its data file. Returns its state. */
async function filled(rows: readonly Note[] = Array.from({ length: COUNT }, (_, at) => note(at + 1))) {
  const storage = await open()
  await put(storage, ...rows)
  const state = await storage.export()
  await storage.close()
  return state
}

/** How many rows of data files are parsed while a job runs. */
async function parsedWhile(job: () => Promise<unknown>): Promise<number> {
  const before = parsedRows.count
  await job()
  return parsedRows.count - before
}

describe('a storage with many rows', () => {
  test('parses no row when it opens, and those of one chunk when one is read', async () => {
    await filled()
    let storage = await open({ file: await leave('again'), collections: [notes] })
    await storage.close()
    expect(
      await parsedWhile(async () => {
        storage = await open({ collections: [notes] })
      }),
    ).toBe(0)
    const read = () => storage.read((tx) => tx.getMany(notes, [1, 2, 3]))
    expect(await parsedWhile(read)).toBe(ROWS_PER_CHUNK - 1)
    expect(await read()).toEqual([1, 2, 3].map(note))
    expect(await parsedWhile(read)).toBe(0)
  })

  test('is the same when all of it is read', async () => {
    const odd = [{ id: COUNT + 9 }, { id: 'a text' }, { rank: 1, id: COUNT + 10, owner: 'x' }]
    const state = await filled([...Array.from({ length: COUNT }, (_, at) => note(at + 1)), ...odd])
    const storage = await open()
    const found = await storage.read((tx) => tx.find(notes, { index: 'id', prefix: [], limit: 5, reverse: true }))
    expect(found.map(({ id }) => id)).toEqual(['a text', COUNT + 10, COUNT + 9, COUNT, COUNT - 1])
    expect(await storage.export()).toEqual(state)
  })

  test('copies rows that nobody read when the data file is written again', async () => {
    const { rows } = await filled()
    const storage = await open()
    expect(await parsedWhile(() => put(storage, note(COUNT + 1)).then(() => storage.close()))).toBe(1)
    expect((await (await open()).export()).rows).toEqual({ notes: [...(rows.notes ?? []), note(COUNT + 1)] })
  })

  test('names the line if one is damaged', async () => {
    await filled()
    const text = await readFile(storages.file, 'utf8')
    await writeFile(storages.file, text.replace('"owner 3",10,', '"owner 3",11,'))
    await expect(open()).rejects.toThrow(/line 12: the line is damaged, which holds a row of notes, perhaps 10/)
  })

  test('opens without the list of blocks, and with one that is wrong', async () => {
    const state = await filled()
    const lines = (await readFile(storages.file, 'utf8')).trimEnd().split('\n')
    const { end, rows, whole, blocks } = JSON.parse(lines.pop() ?? '')
    const { objectLine } = await import('../../adapters/storage/file/line.js')
    for (const list of [undefined, [], 'x', [[1]], blocks.slice(1), blocks.map(([bytes]: [number]) => [bytes, 0])]) {
      await writeFile(storages.file, `${lines.join('\n')}\n${objectLine({ end, rows, whole, blocks: list })}`)
      const storage = await open()
      expect(await storage.export()).toEqual(state)
      await storage.close()
    }
  })
})

describe('a large journal', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())
  /** More than 4 MiB. */
  const large = Array.from({ length: 300 }, (_, at): Note => ({ id: at, body: 'x'.repeat(15_000) }))

  test.for(['is idle', 'closes'])('is written into the data file when the storage %s', async (when) => {
    const storage = await open({ wholeLimit: 0 })
    await put(storage, ...large)
    const size = async () => (await readFile(storages.file)).length
    expect(await size()).toBeLessThan(1000)
    if (when === 'closes') await storage.close()
    else {
      vi.advanceTimersByTime(1000)
      expect(await size()).toBeLessThan(1000)
      vi.advanceTimersByTime(1000)
      await vi.waitFor(async () => expect(await size()).toBeGreaterThan(4 << 20))
      vi.advanceTimersByTime(10_000)
    }
    expect(await size()).toBeGreaterThan(4 << 20)
    expect((await partsBeside(storages.file)).length).toBeLessThanOrEqual(2)
    expect((await (await open({ file: await leave('then') })).export()).rows).toEqual({ notes: large })
  })

  test('stays beside the data file when it is small', async () => {
    const storage = await open({ wholeLimit: 0 })
    await put(storage, { id: 1 })
    vi.advanceTimersByTime(5000)
    await storage.close()
    expect((await readFile(storages.file)).length).toBeLessThan(1000)
    expect((await (await open()).export()).rows).toEqual({ notes: [{ id: 1 }] })
  })
})

test('rows that nobody has read are found, replaced and removed like others', () => {
  const ids = fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.constantFrom(511, 512, 1023, 1024, 1e6, 0.5, -1, '1', 'a'))
  const steps = fc.array(fc.tuple(ids, fc.constantFrom('get', 'put', 'remove', 'copy')), { maxLength: 40, size: 'max' })
  const stored = fc.uniqueArray(fc.integer({ min: 0, max: 1500 }), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(stored, fc.constantFrom(0, 4096), steps, (places, from, steps) => {
      let rows = new Rows()
      const map = new Map<Key, Row>()
      const chunks = new Map<number, Row[]>()
      for (const id of places.sort((a, b) => a - b).map((place) => place + from)) {
        const first = Math.floor(id / ROWS_PER_CHUNK) * ROWS_PER_CHUNK
        map.set(id, { id })
        chunks.set(first, [...(chunks.get(first) ?? []), { id }])
      }
      for (const [first, read] of chunks)
        rows.addUnread({ first, count: read.length, read: () => read, parts: () => read })
      expect(rows.size).toBe(map.size)
      for (const [given, step] of steps) {
        const id = typeof given === 'number' && given >= 0 ? given + from : given
        if (step === 'get') expect(rows.get(id)).toEqual(map.get(id))
        if (step === 'copy') rows = rows.copy()
        if (step === 'put') {
          rows.set(id, { id })
          map.set(id, { id })
        }
        if (step === 'remove') {
          rows.delete(id)
          map.delete(id)
        }
        expect(rows.size).toBe(map.size)
      }
      const inOrder = [...map.values()].sort((a, b) => compareParts(a.id, b.id))
      expect(new Set([...rows.parts(['id'])].map(({ id }) => id))).toEqual(new Set(map.keys()))
      const partly = [...rows.alreadyRead(), ...rows.unread().flatMap((each) => each.read())]
      expect(partly.sort((a, b) => compareParts(a.id, b.id))).toEqual(inOrder)
      const numbers = inOrder.filter(({ id }) => typeof id === 'number' && !rows.isNamed(id))
      expect([...rows.numbered(undefined, true)]).toEqual(numbers.reverse())
      expect(rows.inOrder()).toEqual(inOrder)
    }),
    { numRuns: howMuch(25, 300) },
  )
})
