import { serialStorage } from '../../src/storage/serial.js'
import type { Storage } from '../../src/storage/storage.js'
import { Tables } from '../../src/storage/tables.js'

export interface MemoryStorageOptions {
  /** Runs every write's body twice and keeps the second, and refuses rows that are not plain JSON. For tests. */
  rerun?: boolean
}

/** Rows in this process's memory: gone with it. */
export function memoryStorage({ rerun = false }: MemoryStorageOptions = {}): Storage {
  return serialStorage({ tables: new Tables(), rerun })
}
