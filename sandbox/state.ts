import { randomUUID } from 'node:crypto'
import { access, constants, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { replaceFile, settlePath, writePieces } from '../adapters/storage/file/disk.js'
import { isStorage, readStateDocument, readStored, storageAt } from '../adapters/storage/file/stored.js'
import { fileStorage, StorageDamaged, StorageLocked } from '../adapters/storage/file.js'
import { memoryStorage } from '../adapters/storage/memory.js'
import { collections } from '../src/collections.js'
import { schemaHistory } from '../src/migrations/schema.js'
import { checkSnapshot } from '../src/sandbox/controls/snapshot.js'
import { stateText } from '../src/storage/state.js'
import type { State, Storage } from '../src/storage/storage.js'
import { type Migration, pendingMigrations, SchemaNewer, schemaOf } from '../src/storage/tables/migration.js'
import { messageOf } from '../src/storage/unknown.js'
import type { Settings } from './config.js'
import { Refusal, refuseFile } from './refusal.js'

export interface OpenOptions {
  readonly replaceBy?: State | undefined
  readonly warn?: ((message: string) => void) | undefined
}

/** Opens a data file, a database, or else memory. Throws `Refusal`. */
export async function openStorage(
  { data, database }: Partial<Pick<Settings, 'data' | 'database'>>,
  { replaceBy, warn }: OpenOptions = {},
): Promise<Storage> {
  if (database !== undefined) return openDatabase(database, replaceBy)
  return data === undefined ? replaced(memoryStorage(), replaceBy) : openData(data, { replaceBy, warn })
}

async function openDatabase(url: string, replaceBy: State | undefined): Promise<Storage> {
  const { DatabaseRefused, postgresStorage } = await import('../adapters/storage/postgres.js')
  try {
    return await replaced(await postgresStorage({ url }), replaceBy)
  } catch (error) {
    if (error instanceof DatabaseRefused || error instanceof SchemaNewer)
      throw new Refusal(error.message, { cause: error })
    throw error
  }
}

/** Opens a data file. Throws `Refusal` if another process uses it, or if it is damaged. */
export async function openData(file: string, { replaceBy, warn }: OpenOptions = {}): Promise<Storage> {
  try {
    const path = await settlePath(file)
    if (await isSpecialFile(path)) throw new Refusal(`cannot store data in ${file}: it is not a regular file`)
    return await replaced(await fileStorage({ file: path, ...(warn && { warn }) }), replaceBy)
  } catch (error) {
    if (error instanceof StorageDamaged || error instanceof StorageLocked || error instanceof SchemaNewer)
      throw new Refusal(error.message, { cause: error })
    return refuseFile('use the data file', file, error)
  }
}

async function replaced(storage: Storage, replaceBy: State | undefined): Promise<Storage> {
  try {
    if (replaceBy) await storage.import(replaceBy)
    return storage
  } catch (error) {
    await storage.close()
    throw error
  }
}

type OnBytes = (bytes: number) => void

/** Reads a file that `writeState` wrote, or the files of a storage that nobody uses. Throws `Refusal`. */
export async function readState(file: string, onRead?: OnBytes): Promise<State> {
  await access(file).catch((error: unknown) => refuseFile('read', file, error))
  try {
    return await checkSnapshot(await stateIn(resolve(file), onRead), { collections, schemas: schemaHistory })
  } catch (cause) {
    throw new Refusal(`cannot import ${file}: ${messageOf(cause)}`, { cause })
  }
}

/** Migrates a data file or an exported state in memory, and audits it. Changes nothing. Throws `Refusal` if it would not open. */
export async function planMigration(file: string): Promise<{ schema: number; migrations: readonly Migration[] }> {
  await access(file).catch((error: unknown) => refuseFile('read', file, error))
  try {
    const state = await stateIn(resolve(file))
    const schema = schemaOf(state)
    const migrations = await pendingMigrations(schemaHistory, { schema, what: file })
    await checkSnapshot(state, { collections, schemas: schemaHistory })
    return { schema, migrations }
  } catch (cause) {
    throw new Refusal(`farthing would not open ${file}: ${messageOf(cause)}`, { cause })
  }
}

async function stateIn(path: string, onRead?: OnBytes): Promise<State> {
  if (!(await isStorage(path))) return readStateDocument(path, onRead)
  const { schema, tables } = await readStored(path)
  return { schema, ...tables.state() }
}

/** Writes the state of a storage as JSON in one step, and returns it. Throws `Refusal`. */
export async function writeState(file: string, storage: Storage, onWritten?: OnBytes): Promise<State> {
  await checkTarget(file)
  const state = await storage.export()
  const pieces = measured(stateText(state), onWritten)
  try {
    const path = await settlePath(file)
    if (await isSpecialFile(path)) await writePieces(path, 'w', pieces)
    else await replaceAtomically(path, pieces)
    return state
  } catch (error) {
    return refuseFile('write', file, error)
  }
}

function* measured(pieces: Iterable<string>, onWritten: OnBytes = () => {}): Generator<string> {
  let bytes = 0
  for (const piece of pieces) {
    yield piece
    onWritten((bytes += Buffer.byteLength(piece)))
  }
}

/**
 * Throws `Refusal` if a command cannot write this file, or would write over a file of a storage: its data file, or the key or
 * journal beside it. `data`: a data file that may not exist yet.
 */
export async function checkTarget(file: string, data?: string): Promise<void> {
  try {
    const path = await settlePath(file)
    const known = data === undefined ? undefined : resolve(data)
    const of = (await storageAt(resolve(file), known)) ?? (await storageAt(path, known))
    if (of !== undefined)
      throw new Refusal(
        of === resolve(file)
          ? `${file} is a sandbox's data file: choose a different file`
          : `${file} belongs to the data file ${of} of a sandbox: choose a different file`,
      )
    const isSpecial = await isSpecialFile(path)
    if (isSpecial && (await stat(path)).isDirectory()) throw new Refusal(`cannot write ${file}: it is a directory`)
    await access(isSpecial ? path : dirname(path), constants.W_OK)
  } catch (error) {
    if (error instanceof Refusal) throw error
    refuseFile('write', file, error)
  }
}

async function replaceAtomically(path: string, pieces: Iterable<string>): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await writePieces(aside, 'w', pieces)
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
