import { readdir, writeFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { StorageDamaged } from '../../adapters/storage/file.js'
import { useFileStorages } from '../support/storage/file-storages.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, contents } = storages

/** A line of a journal of version 0.1. */
function lineOf(content: object): string {
  const json = JSON.stringify(content)
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`
}

const note = (id: number) => ({ id, body: 'é' })
const commit = (number: number) =>
  lineOf({ commit: number, counters: { notes: number }, rows: { notes: [note(number)] } })
const head = lineOf({ journal: 'farthing/1', store: 's' })

/** The files of version 0.1: a data file up to commit 1, and a journal up to commit 3. */
async function writeFirstFormat({
  journal = head + commit(1) + commit(2) + commit(3),
  key = true,
} = {}): Promise<void> {
  const data = { format: 'farthing/1', store: 's', commit: 1, counters: { notes: 1 }, rows: { notes: [note(1)] } }
  await writeFile(storages.file, `${JSON.stringify(data, null, 2)}\n`)
  await writeFile(`${storages.file}.journal`, journal)
  const generations = [{ commit: 2, rows: { service_keys: [{ id: 'key', value: 'k' }] } }]
  if (key) await writeFile(`${storages.file}.key`, JSON.stringify({ format: 'farthing-key/1', generations }))
}

test('a state of version 0.1 opens with its journal and its key, and a copy of all three stays', async () => {
  await writeFirstFormat()
  const before = await contents()
  const storage = await open()
  const { counters, rows } = await storage.export()
  expect({ counters, rows }).toEqual({
    counters: { notes: 3 },
    rows: { notes: [note(1), note(2), note(3)], service_keys: [{ id: 'key', value: 'k' }] },
  })
  await put(storage, { id: 4 })
  await storage.close()
  const after = await contents()
  expect(after['data.json.v1']).toBe(before['data.json'])
  expect(after['data.json.v1.journal']).toBe(before['data.json.journal'])
  expect(after['data.json.v1.key']).toBe(before['data.json.key'])
  expect(Object.keys(after)).not.toContain('data.json.journal')
  const again = await (await open()).export()
  expect(again.rows.notes).toHaveLength(4)
  expect(again.rows.service_keys).toEqual(rows.service_keys)
})

test.each([
  ['half a line', commit(3).slice(0, -9)],
  ['a damaged line', commit(3).replace('"id":3', '"id":9')],
])('%s at the end of its journal is dropped', async (_, last) => {
  await writeFirstFormat({ journal: head + commit(2) + last })
  expect((await (await open()).export()).rows.notes).toEqual([note(1), note(2)])
})

test.for([
  ['a damaged line', head + commit(2).replace('"id":2', '"id":9') + commit(3), 2],
  ['a missing commit', head + commit(3), 2],
  ['a journal of a different state', lineOf({ journal: 'farthing/1', store: 'other' }) + commit(2), 1],
  ['a repeated commit', head + commit(2) + commit(2), 3],
] as const)('%s in its journal is refused, with the line, and nothing changes', async ([, journal, line]) => {
  await writeFirstFormat({ journal })
  const before = await contents()
  const error = await open().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StorageDamaged)
  expect(error).toMatchObject({ file: `${storages.file}.journal`, line })
  expect(await contents()).toEqual(before)
  expect((await readdir(storages.directory)).sort()).toEqual(['data.json', 'data.json.journal', 'data.json.key'])
})
