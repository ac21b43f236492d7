import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { collection, type Row } from '../../src/storage/storage.js'
import { type Durable, durableStorageContract, storageContract } from '../storage.contract.js'

const memory = (rerun: boolean) => async () => {
  const storage = memoryStorage({ rerun })
  return { storage, cleanup: () => storage.close() }
}

/** A journal of `journalLimit` bytes is written into the data file: with 0, after every write. */
const inFile = (journalLimit: number) => async (): Promise<Durable> => {
  const directory = await mkdtemp(join(tmpdir(), 'farthing-'))
  const open = () => fileStorage({ file: join(directory, 'data.json'), journalLimit })
  let storage = await open()
  return {
    storage,
    async reopen() {
      await storage.close()
      storage = await open()
      return storage
    },
    async cleanup() {
      await storage.close()
      await rm(directory, { recursive: true })
    },
  }
}

storageContract('memory', memory(false))
storageContract('memory that runs every body twice', memory(true))
storageContract('a file', inFile(1 << 20))
storageContract('a file rewritten all the time', inFile(0))
durableStorageContract('a file', inFile(1 << 20))
durableStorageContract('a file rewritten all the time', inFile(0))

const notes = collection<Row & { readonly text: unknown }>()('notes', {})

test.each([
  ['undefined', undefined],
  ['not a number', Number.NaN],
  ['a date', new Date(0)],
  ['a map in a list', [{ of: new Map() }]],
  ['a function', () => {}],
])('where writes run twice, a row that holds %s is refused: it is no JSON', async (_, text) => {
  const storage = memoryStorage({ rerun: true })
  const put = storage.write(async (tx) => tx.put(notes, { id: 1, text }))
  await expect(put).rejects.toThrow('a row of notes is not plain JSON')
  expect(await storage.read((tx) => tx.get(notes, 1))).toBeUndefined()
  await storage.write(async (tx) => tx.put(notes, { id: 1, text: [{ of: [null, 1.5, true, 'text'] }] }))
})
