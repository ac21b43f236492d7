import { afterAll } from 'vitest'
import { type Storage, StorageClosed } from '../../../src/storage/storage.js'
import { type Durable, durableStorageContract, storageContract } from '../../storage.contract.js'
import { onPostgres } from '../../support/storage/postgres.js'
import { newSchema } from '../../support/storage/shared-url.js'

await onPostgres('The law', (database) => {
  /** Storages that a case has left. Creating tables takes longer than most cases. */
  const free: { readonly schema: string; readonly storage: Storage }[] = []
  const create: Parameters<typeof durableStorageContract>[1] = async (collections): Promise<Durable> => {
    const left = free.pop()
    const schema = left?.schema ?? newSchema()
    const open = () => database.open({ schema, collections })
    let storage = left?.storage ?? (await open())
    return {
      storage,
      async reopen() {
        await storage.close()
        storage = await open()
        return storage
      },
      async cleanup() {
        const clear = () => storage.import({ counters: {}, rows: {} })
        await clear().catch(async (error: unknown) => {
          if (!(error instanceof StorageClosed)) throw error
          storage = await open()
          await clear()
        })
        free.push({ schema, storage })
      },
    }
  }
  afterAll(async () => {
    for (const { storage } of free) await storage.close()
  })
  storageContract('PostgreSQL', create)
  durableStorageContract('PostgreSQL', create)
})
