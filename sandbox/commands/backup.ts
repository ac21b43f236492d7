import { resolve } from 'node:path'
import { copyStored } from '../../adapters/storage/file/backup.js'
import { exists, settlePath } from '../../adapters/storage/file/disk.js'
import { StorageDamaged } from '../../adapters/storage/file/errors.js'
import { partsBeside } from '../../adapters/storage/file/journal-part.js'
import { StorageUnavailable } from '../../src/storage/storage.js'
import { Refusal, refuseFile } from '../refusal.js'
import { printLine } from '../terminal.js'

/** Copies the state of a data file, which a sandbox may use, into a new file with its key file. Throws `Refusal`. */
export async function backup(file: string, to: string): Promise<void> {
  const path = resolve(file)
  if (!(await exists(path))) throw new Refusal(`no data file at ${file}`)
  const target = await newFile(to)
  try {
    const { commit, rows } = await copyStored(path, target)
    printLine(`Wrote ${rows} rows, up to commit ${commit}, to ${target}.`)
  } catch (error) {
    if (error instanceof StorageDamaged || error instanceof StorageUnavailable)
      throw new Refusal(error.message, { cause: error })
    refuseFile('write', to, error)
  }
}

/** The path of a file that does not exist, and whose journal and key do not. Throws `Refusal`. */
export async function newFile(to: string): Promise<string> {
  const target = await settlePath(to).catch((error: unknown) => refuseFile('write', to, error))
  const beside = [target, `${target}.key`, `${target}.lock`, `${target}.journal`, `${target}.previous`]
  for (const name of beside) if (await exists(name)) throw new Refusal(`${name} exists: name a file that does not`)
  if ((await partsBeside(target)).length > 0)
    throw new Refusal(`a journal is beside ${target}: name a file without one`)
  return target
}
