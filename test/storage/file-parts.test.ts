import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
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
