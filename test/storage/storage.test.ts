import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStorage } from '../../adapters/storage/file.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
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
