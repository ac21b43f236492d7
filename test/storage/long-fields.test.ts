import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useFileStorages } from '../support/storage/file-storages.js'
import { notes } from '../support/storage/storage-model.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open } = storages
const long = (letter: string) => letter.repeat(50_000)
const filesOf = () => readdir(`${storages.file}.long`).catch(() => [])
const bodyOf = (storage: Awaited<ReturnType<typeof open>>, id: number) =>
  storage.read(async (tx) => (await tx.get(notes, id))?.body)

test('a long field is in a file of its own, and neither in the journal nor in the data file', async () => {
  const storage = await open()
  await put(storage, { id: 1, owner: 'o', body: long('a') }, { id: 2, body: long('a') }, { id: 3, body: 'short' })
  expect(await bodyOf(storage, 1)).toBe(long('a'))
  expect(await filesOf()).toHaveLength(1)
  const texts = async () => Object.entries(await storages.contents()).filter(([name]) => name.startsWith('data.json'))
  for (const [, text] of await texts()) expect(text).not.toContain('a'.repeat(100))
  await storage.close()
  for (const [, text] of await texts()) expect(text).not.toContain('a'.repeat(100))
  const again = await open()
  expect([await bodyOf(again, 1), await bodyOf(again, 2), await bodyOf(again, 3)]).toEqual([
    long('a'),
    long('a'),
    'short',
  ])
  expect(await again.read((tx) => tx.find(notes, { index: 'byOwner', prefix: ['o'], limit: 2 }))).toHaveLength(1)
})

test('an export holds the content, and an import puts it into a file', async () => {
  const storage = await open()
  await put(storage, { id: 1, body: long('a') })
  const state = JSON.parse(JSON.stringify(await storage.export()))
  expect(state.rows.notes).toEqual([{ id: 1, body: long('a') }])
  await storage.import({ ...state, rows: { notes: [{ id: 7, body: long('b') }] } })
  expect(await bodyOf(storage, 7)).toBe(long('b'))
  await storage.close()
  expect(await readFile(storages.file, 'utf8')).not.toContain('bbbb')
  expect(await bodyOf(await open(), 7)).toBe(long('b'))
})

test('a row that is put again keeps its file, and one that changes gets another', async () => {
  const storage = await open()
  await put(storage, { id: 1, body: long('a') })
  const row = await storage.read((tx) => tx.get(notes, 1))
  if (!row) throw new Error('the row is there')
  await put(storage, { ...row, rank: 2 })
  expect(await filesOf()).toHaveLength(1)
  await put(storage, { ...row, body: long('b') })
  expect(await filesOf()).toHaveLength(2)
  expect(await bodyOf(storage, 1)).toBe(long('b'))
})

test('files that neither the data file nor the last one needs are removed', async () => {
  const storage = await open({ journalLimit: 0 })
  await put(storage, { id: 1, body: long('a') })
  await storage.write(async (tx) => tx.remove(notes, 1))
  for (let id = 10; id < 40; id++) await put(storage, { id, body: 'x'.repeat(500) })
  await expect.poll(filesOf).toEqual([])
  await put(storage, { id: 2, body: long('b') })
  for (let id = 10; id < 40; id++) await put(storage, { id, body: 'y'.repeat(500) })
  expect(await bodyOf(storage, 2)).toBe(long('b'))
  await storage.close()
  expect(await bodyOf(await open(), 2)).toBe(long('b'))
})

test('a damaged or missing file is said to be so, and everything else is read', async () => {
  const storage = await open()
  await put(storage, { id: 1, body: long('a') }, { id: 2, body: 'short' })
  const [name] = await filesOf()
  await writeFile(join(`${storages.file}.long`, String(name)), long('b'))
  await expect(bodyOf(storage, 1)).rejects.toThrow(/its content is not what its name says/)
  expect(await bodyOf(storage, 2)).toBe('short')
})

test('a write whose file cannot be written is refused, and later ones go on', async () => {
  await writeFile(`${storages.file}.long`, 'not a directory')
  const storage = await open()
  await expect(put(storage, { id: 1, body: long('a') })).rejects.toThrow(/could not be written/)
  await expect.poll(() => put(storage, { id: 2, body: 'short' }).then(() => 'written', String)).toBe('written')
  expect(await bodyOf(storage, 1)).toBeUndefined()
})

test.each([
  ['an object', '{"a":1}'],
  ['a long text', JSON.stringify(long('c'))],
])('a row with a long field may have %s as its field __proto__', async (_, value) => {
  const row = JSON.parse(`{"id":1,"body":"${long('a')}","__proto__":${value}}`)
  const fields = async (from: Awaited<ReturnType<typeof open>>) =>
    Object.entries((await from.export()).rows.notes?.[0] ?? {}).sort()
  const storage = await open()
  await put(storage, row)
  expect(await fields(storage)).toEqual(Object.entries(row).sort())
  await storage.close()
  expect(await fields(await open())).toEqual(Object.entries(row).sort())
})

test('a row may have a field with the name of the digests', async () => {
  const storage = await open()
  const digest = 'a'.repeat(64)
  const paths = ['../../secret', `../${digest}`, `${digest}/..`, digest.toUpperCase(), '', 7]
  const rows = paths.map((body, id) => ({ id, long_fields: { body } }))
  await storage.import({ counters: {}, rows: { notes: rows } })
  await storage.close()
  expect((await (await open()).export()).rows.notes).toEqual(rows)
})
