import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { type FileStorageOptions, fileStorage } from '../../../adapters/storage/file.js'
import type { Storage } from '../../../src/storage/storage.js'

export interface FileStorages {
  /** The directory of the test, and the data file in it. */
  readonly directory: string
  readonly file: string
  /** Opens a storage that is closed after the test. */
  open(options?: Partial<FileStorageOptions>): Promise<Storage>
  closeAll(): Promise<void>
  /** Leaves a storage that closed with an error alone. */
  forget(storage: Storage): void
  /** Copies the data file and its journal into a directory of their own: what is left if the process dies now. */
  leave(name: string): Promise<string>
  /** The files beside a data file, by name, without the lock. */
  contents(directory?: string): Promise<Record<string, string>>
}

/** Creates a directory for each test of a file, and removes it afterwards. */
export function useFileStorages(): FileStorages {
  const opened: Storage[] = []
  const here = { directory: '', file: '' }

  beforeEach(async () => {
    here.directory = await realpath(await mkdtemp(join(tmpdir(), 'farthing-')))
    here.file = join(here.directory, 'data.json')
  })
  afterEach(async () => {
    await storages.closeAll()
    await rm(here.directory, { recursive: true })
  })

  const storages = {
    get directory() {
      return here.directory
    },
    get file() {
      return here.file
    },
    async open(options?: Partial<FileStorageOptions>) {
      const storage = await fileStorage({ file: here.file, ...options })
      opened.push(storage)
      return storage
    },
    async closeAll() {
      for (const storage of opened.splice(0)) await storage.close()
    },
    forget(storage: Storage) {
      opened.splice(opened.indexOf(storage), 1)
    },
    async leave(name: string) {
      const left = join(here.directory, name, 'data.json')
      await mkdir(join(here.directory, name))
      for (const entry of await readdir(here.directory, { withFileTypes: true }))
        if (entry.isFile() && !entry.name.includes('.lock'))
          await copyFile(join(here.directory, entry.name), join(here.directory, name, entry.name))
      return left
    },
    async contents(directory = here.directory) {
      const found: Record<string, string> = {}
      for (const entry of await readdir(directory, { withFileTypes: true }))
        if (entry.isFile() && !entry.name.endsWith('.lock'))
          found[entry.name] = await readFile(join(directory, entry.name), 'latin1')
      return found
    },
  }
  return storages
}

export async function idsIn(storage: Storage): Promise<unknown[]> {
  return (await storage.export()).rows.notes?.map(({ id }) => id) ?? []
}
