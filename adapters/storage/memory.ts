import { schemaHistory } from '../../src/core.js'
import type { Storage } from '../../src/storage/storage.js'
import { serialStorage } from '../../src/storage/tables/serial.js'
import { Tables } from '../../src/storage/tables/tables.js'

export interface MemoryStorageOptions {
  /** For tests: runs every write's body twice, keeps the second run, and refuses rows that are not plain JSON. Default: false. */
  rerun?: boolean
}

/** Stores rows in this process's memory. They are lost when it ends. */
export function memoryStorage({ rerun = false }: MemoryStorageOptions = {}): Storage {
  return serialStorage({ tables: new Tables(), history: schemaHistory, rerun })
}
