import { copyFile, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { appendJournalPart, partFile, partsBeside } from '../../adapters/storage/file/journal-part.js'
import { readStored } from '../../adapters/storage/file/stored.js'
import { StorageDamaged, StorageLocked } from '../../adapters/storage/file.js'
import { SCHEMA } from '../../src/migrations/schema.js'
import type { Row } from '../../src/storage/storage.js'
import { howMuch, isWhole } from '../support/how-much.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import { type Note, notes } from '../support/storage/storage-model.js'
import { expectNewNumbers, put } from './cases.js'

const storages = useFileStorages()
const { open, leave, contents } = storages

const linesOf = async (file: string) => (await readFile(file, 'utf8')).trimEnd().split('\n')

describe('the data file', () => {
  test('is private text with a line for each row, and holds everything after closing', async () => {
    const path = join(storages.directory, 'made', 'for', 'it')
    const storage = await open({ file: join(path, 'data.json') })
    await put(storage, { id: 2, owner: 'b' }, { id: 1, owner: 'a' }, { id: 'x', body: { b: [{}] } })
    await storage.write((tx) => tx.nextId('notes'))
    const state = await storage.export()
    await storage.close()
    const lines = (await linesOf(join(path, 'data.json'))).map((line) => JSON.parse(line))
    const checksum = expect.stringMatching(/^[0-9a-f]{8}$/)
    expect(lines).toEqual([
      { farthing: 'data', schema: SCHEMA, store: expect.any(String), commit: 2, counters: { notes: 1 }, checksum },
      { collection: 'notes', rows: 3, fields: ['id', 'owner'], checksum },
      [checksum, 1, 'a'],
      [checksum, 2, 'b'],
      [checksum, { id: 'x', body: { b: [{}] } }],
      { end: 'data', rows: 3, whole: checksum, checksum },
    ])
    const again = await open({ file: join(path, 'data.json') })
    expect(await again.export()).toEqual(state)
    for (const name of await readdir(path))
      if (process.platform !== 'win32') expect((await stat(join(path, name))).mode & 0o077, name).toBe(0)
  })

  test('holds numbers that stay used over an import, also after closing', async () => {
    const storage = await open()
    await expectNewNumbers(storage)
    await storage.import({ counters: {}, rows: {} }, { keepsNumbers: true })
    await storage.close()
    expect(await (await open()).write((tx) => tx.nextId('n'))).toBe(5)
  })

  test('may be a state that was exported elsewhere', async () => {
    await writeFile(storages.file, JSON.stringify({ counters: { a: 4 }, rows: { notes: [{ id: 1, owner: 'o' }] } }))
    const storage = await open()
    expect(await idsIn(storage)).toEqual([1])
    expect(await storage.write((tx) => tx.nextId('a'))).toBe(5)
    await storage.close()
    expect((await (await open()).export()).counters).toEqual({ a: 5 })
  })

  test.for([
    '',
    'null',
    '0',
    '[]',
    '{"counters":{}}',
    '{"counters":{},"rows":{}',
    '{"counters":{},"rows":{"notes":[{}]}}',
  ])('is unchanged and named in the error if it has no state: %s', async (text) => {
    await writeFile(storages.file, text)
    await expect(open()).rejects.toThrow(/data\.json: .*Nothing was changed/)
    expect(await contents()).toEqual({ 'data.json': text })
  })

  test('is named when it cannot be read', async () => {
    await mkdir(storages.file)
    await expect(open()).rejects.toThrow(/data\.json: the file cannot be read \(EISDIR.*Nothing was changed/)
    expect(await readdir(storages.directory)).toEqual(['data.json'])
  })

  test('is the same storage through two paths', async () => {
    await open()
    const link = join(storages.directory, 'link.json')
    await symlink(storages.file, link)
    await expect(open({ file: link })).rejects.toThrow(StorageLocked)
  })

  test('keeps every row as it is: any characters, other fields, other orders, no fields at all', async () => {
    const odd: Note[] = [
      { id: '\u0000 \ud800 \udfff', body: '\u0000 \ud800 \udfff \n "' },
      { id: 1, owner: 'o', rank: 1 },
      { rank: 1, id: 2, owner: 'o' },
      { id: 3 },
      { id: 4, owner: 'o', rank: 2 },
      { id: 5, body: [[], {}, null, 'x'] },
      JSON.parse('{"id":6,"__proto__":{"a":1}}'),
      JSON.parse('{"__proto__":1,"id":7}'),
      { id: 8, owner: null, rank: null },
    ]
    const firstFields = [{ id: 1, body: 1 }, ...odd.slice(1)].map((row, at) => ({ ...row, id: `${at}` }))
    const rows: Record<string, readonly Row[]> = { notes: odd, others: firstFields, 'a "name"\n': [{ id: '' }] }
    const storage = await open()
    await storage.import({ schema: SCHEMA, counters: {}, rows })
    const state = JSON.stringify(await storage.export())
    await put(storage, ...odd)
    expect(JSON.stringify((await open({ file: await leave('killed') }).then((it) => it.export())).rows)).toBe(
      JSON.stringify((await storage.export()).rows),
    )
    await storage.import(JSON.parse(state))
    await storage.close()
    expect(JSON.stringify(await (await open()).export())).toBe(state)
  })

  test('is whole after closing if it is small, and keeps its journal if it is large', async () => {
    const small = await open()
    await put(small, { id: 1, body: 'x'.repeat(500) })
    await small.close()
    expect((await readStored(storages.file)).journal.parts).toEqual([])
    const large = await open({ wholeLimit: 500 })
    await put(large, { id: 2 })
    const before = await readFile(storages.file, 'utf8')
    await large.close()
    expect(await readFile(storages.file, 'utf8')).toBe(before)
    expect((await readStored(storages.file)).journal.parts).toHaveLength(1)
    expect(await idsIn(await open())).toEqual([1, 2])
  })

  test('is rewritten when the journal grows, and the one before stays together with the parts that continue it', async () => {
    const storage = await open({ journalLimit: 2000, partBytes: 600, wholeLimit: 0 })
    for (let round = 0; round < 60; round++) {
      await Promise.all([0, 1, 2].map((n) => put(storage, { id: round * 3 + n, body: 'x'.repeat(100) })))
      expect((await partsBeside(storages.file)).length).toBeLessThan(80)
    }
    const head = JSON.parse((await linesOf(storages.file))[0] ?? '') as { commit: number }
    expect(head.commit).toBeGreaterThan(0)
    const state = await storage.export()
    expect(state.rows.notes).toHaveLength(180)
    await storage.close()
    const before = await leave('before')
    await rm(before)
    await copyFile(`${before}.previous`, before)
    for (const part of (await readStored(storages.file)).journal.parts) await appendJournalPart(before, part)
    expect(await (await open()).export()).toEqual(state)
    expect(await (await open({ file: before })).export()).toEqual(state)
  })
})

describe('every wrong bit', () => {
  /** Which bits of a byte are flipped: all in `npm run test:all`, else one of every third byte, and one of a line break. */
  const bitsAt = (at: number, byte: number) =>
    isWhole ? [0, 1, 2, 3, 4, 5, 6, 7] : at % 3 === 0 || byte === 10 ? [at % 8] : []

  /** Opens a state with bits of each of its bytes flipped, and expects an error that names the file and the line. */
  async function flipEach(file: string, damaged: string, { mayLoseLastLine = false } = {}) {
    const bytes = await readFile(damaged)
    let line = 1
    let flips = 0
    for (const [at, byte] of bytes.entries()) {
      for (const bit of bitsAt(at, byte)) {
        const changed = Buffer.from(bytes)
        changed[at] = byte ^ (1 << bit)
        await writeFile(damaged, changed)
        const error = await readStored(file).catch((thrown: unknown) => thrown)
        flips++
        // Without its line break, the last line is half a write.
        if (mayLoseLastLine && at === bytes.length - 1 && !(error instanceof StorageDamaged)) continue
        expect(error, `byte ${at}, bit ${bit}`).toBeInstanceOf(StorageDamaged)
        const { file: named, line: found = 0 } = error as StorageDamaged
        expect(named).toBe(damaged)
        // A line break that is gone, or a new one, moves the damage by a line.
        expect(Math.abs(found - line), `byte ${at}, bit ${bit}: line ${found} instead of ${line}`).toBeLessThan(2)
      }
      if (byte === 10) line++
    }
    await writeFile(damaged, bytes)
    return flips
  }

  test('of a data file is refused, with the line', async () => {
    const storage = await open()
    await put(storage, { id: 1, owner: 'a@example.test' }, { id: 2, owner: 'b c' }, { id: 'é', body: { z: '@ @' } })
    await storage.write((tx) => tx.nextId('notes'))
    await storage.close()
    expect(await flipEach(storages.file, storages.file)).toBeGreaterThan(howMuch(2500 / 24, 2500))
    expect(await idsIn(await open())).toEqual([1, 2, 'é'])
  })

  test('of a part of the journal is refused, with the line', async () => {
    const storage = await open()
    for (const id of [1, 2]) await put(storage, { id, owner: 'a@ b' })
    const left = await leave('killed')
    const [part] = (await readStored(left)).journal.parts
    if (!part) throw new Error('there is no journal')
    expect(await flipEach(left, partFile(left, part), { mayLoseLastLine: true })).toBeGreaterThan(
      howMuch(1500 / 24, 1500),
    )
    expect(await idsIn(await open({ file: left }))).toEqual([1, 2])
  })
})

test('a commit is in one row as it was put last', async () => {
  const storage = await open()
  await put(storage, { id: 1, rank: 1 })
  await put(storage, { id: 1, rank: 2 })
  await storage.write(async (tx) => tx.remove(notes, 1))
  await put(storage, { id: 1, rank: 3 })
  expect((await (await open({ file: await leave('killed') })).export()).rows.notes).toEqual([{ id: 1, rank: 3 }])
})
