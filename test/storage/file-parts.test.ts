import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { salvage } from '../../adapters/storage/file/backup.js'
import { partFile, partsBeside } from '../../adapters/storage/file/journal-part.js'
import { readStored } from '../../adapters/storage/file/stored.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, leave } = storages
const partsOf = async () => (await readdir(storages.directory)).filter((name) => name.includes('.journal.'))

test('a part that begins while the data file is rewritten stays', async () => {
  // Every commit is a part of its own, and each makes the data file be rewritten.
  const storage = await open({ journalLimit: 0, partBytes: 1 })
  const ids = Array.from({ length: 300 }, (_, id) => id)
  await Promise.all(
    [0, 1, 2].map(async (third) => {
      for (const id of ids.slice(third * 100, third * 100 + 100)) await put(storage, { id, body: 'x'.repeat(id) })
    }),
  )
  expect(await idsIn(await open({ file: await leave('killed') }))).toEqual(ids)
  await storage.close()
  expect(await idsIn(await open())).toEqual(ids)
  expect((await partsOf()).length).toBeLessThan(300)
})

test('the parts beside a data file are in the order of their numbers, however many digits these have', async () => {
  const file = join(storages.directory, 'other.json')
  const numbers = [1, 2, 9, 10, 11, 99, 100, 999_999_999, 1_000_000_000, 12_345_678_901]
  for (const journal of numbers.toReversed()) await writeFile(partFile(file, { journal, id: '0a' }), '')
  expect((await partsBeside(file)).map(({ journal }) => journal)).toEqual(numbers)
})

test.each([9, 10, 11, 12, 25])(
  'a journal of %i parts is read whole, and salvaged whole without its data file',
  async (count) => {
    const ids = Array.from({ length: count }, (_, n) => n + 1)
    const storage = await open({ partBytes: 0, journalLimit: 1 << 30 })
    for (const id of ids) await put(storage, { id })
    const left = await leave(`killed after ${count}`)
    const { journal } = await readStored(left)
    expect(journal.parts.map((part) => part.journal)).toEqual(ids)
    expect(await idsIn(await open({ file: left }))).toEqual(ids)
    const again = await leave(`salvaged after ${count}`)
    const { tables, losses } = await salvage(again)
    expect([tables.rowsIn('notes').length, losses]).toEqual([count, []])
  },
)

test('a large part grows by much at once, and ends with its last commit after closing', async () => {
  const storage = await open({ partBytes: 1 << 20, wholeLimit: 0 })
  const sizes = new Set<number>()
  const sizeNow = async () => (await stat(join(storages.directory, (await partsOf())[0] ?? ''))).size
  for (let id = 0; id < 200; id++) {
    await put(storage, { id, body: 'x'.repeat(500) })
    sizes.add(await sizeNow())
  }
  const whole = [...sizes].at(-1) ?? 0
  // The first 4 KiB grow with each commit, and then 16 KiB at a time do.
  expect(whole).toBeGreaterThan(100_000)
  expect(sizes.size).toBeLessThan(20)
  expect(await idsIn(await open({ file: await leave('killed') }))).toHaveLength(200)
  await storage.close()
  expect(await sizeNow()).toBeLessThan(whole)
  expect(await idsIn(await open())).toHaveLength(200)
})
