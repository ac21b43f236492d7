import { randomUUID } from 'node:crypto'
import { open, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { exists, PRIVATE, replaceFile, settlePath } from '../adapters/storage/file/disk.js'
import { KeyFile } from '../adapters/storage/file/key-file.js'
import { fileStorage, StorageDamaged, StorageLocked } from '../adapters/storage/file.js'
import { memoryStorage } from '../adapters/storage/memory.js'
import { collections } from '../src/collections.js'
import { checkSnapshot } from '../src/sandbox/controls/snapshot.js'
import type { State, Storage } from '../src/storage/storage.js'
import { messageOf } from '../src/storage/unknown.js'
import { parseDocument, readText } from './document.js'
import { Refusal, refuseFile } from './refusal.js'

export interface OpenOptions {
  /** Takes the place of all that is stored. */
  readonly replaceBy?: State | undefined
  readonly warn?: (message: string) => void
}

/** Opens a data file. Throws `Refusal` if another process uses it, or if it is damaged. */
export async function openData(file: string, { replaceBy, warn }: OpenOptions = {}): Promise<Storage> {
  try {
    const path = await settlePath(file)
    if (await isSpecialFile(path)) throw new Refusal(`cannot store data in ${file}: it is not a regular file`)
    const storage = await fileStorage({ file: path, ...(warn && { warn }) })
    if (replaceBy) await replaceState(storage, replaceBy)
    return storage
  } catch (error) {
    if (error instanceof StorageDamaged || error instanceof StorageLocked)
      throw new Refusal(error.message, { cause: error })
    return refuseFile('use the data file', file, error)
  }
}

async function replaceState(storage: Storage, state: State): Promise<void> {
  try {
    await storage.import(state)
  } catch (error) {
    await storage.close()
    throw error
  }
}

export async function openMemory(replaceBy: State | undefined): Promise<Storage> {
  const storage = memoryStorage()
  if (replaceBy) await storage.import(replaceBy)
  return storage
}

/** Reads a file that `writeState` wrote, or a data file with its key file next to it. Throws `Refusal`. */
export async function readState(file: string): Promise<State> {
  const document = await parseDocument(file, await readText(file))
  try {
    return await withKeyBeside(file, await checkSnapshot(document, collections))
  } catch (cause) {
    throw new Refusal(`cannot import ${file}: ${messageOf(cause)}`, { cause })
  }
}

async function withKeyBeside(file: string, state: State & { readonly commit?: unknown }): Promise<State> {
  if (typeof state.commit !== 'number') return state
  const keyFile = await KeyFile.open(`${file}.key`)
  return { counters: state.counters, rows: { ...state.rows, ...keyFile.settle(state.commit) } }
}

/** Writes a state as JSON in one step. Throws `Refusal`. */
export async function writeState(file: string, storage: Storage): Promise<void> {
  await checkTarget(file)
  const text = `${JSON.stringify(await storage.export(), null, 2)}\n`
  try {
    const path = await settlePath(file)
    if (await isSpecialFile(path)) return await writeText(path, text)
    await replaceAtomically(path, text)
  } catch (error) {
    refuseFile('write', file, error)
  }
}

/** Throws `Refusal` if `file` is a data file, whose journal would no longer fit. */
export async function checkTarget(file: string, data?: string): Promise<void> {
  const path = resolve(file)
  if ((data !== undefined && resolve(data) === path) || (await exists(`${path}.journal`)))
    throw new Refusal(`${file} is a sandbox's data file: write the state to a different file`)
}

async function replaceAtomically(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await writeText(aside, text)
    await replaceFile(aside, path)
  } finally {
    await rm(aside, { force: true })
  }
}

/** Whether the path is a directory, a pipe or a device, which a file must not replace. */
async function isSpecialFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && !found.isFile()
}

async function writeText(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', PRIVATE)
  try {
    await handle.writeFile(text)
    if ((await handle.stat()).isFile()) await handle.sync()
  } finally {
    await handle.close()
  }
}
