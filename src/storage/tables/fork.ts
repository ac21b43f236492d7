import { copyState } from '../state.js'
import type { Storage } from '../storage.js'
import type { SchemaHistory } from './migration.js'
import { serialStorage } from './serial.js'
import { Tables } from './tables.js'

/** Returns a storage in memory with the state of any other. Copies the rows if the two cannot share them. */
export async function forkStorage(storage: Storage, history: SchemaHistory): Promise<Storage> {
  if (storage.fork) return storage.fork()
  return serialStorage({ tables: new Tables(copyState(await storage.export())), history })
}
