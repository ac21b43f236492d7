import { exists } from '../../adapters/storage/file/disk.js'
import { Refusal } from '../refusal.js'
import { openData, readState, writeState } from '../state.js'

/** Writes the whole state of a data file to another file. Throws `Refusal`. */
export async function exportState(file: string, data: string): Promise<void> {
  if (!(await exists(data))) throw new Refusal(`no data file at ${data}: name it with --data`)
  const storage = await openData(data)
  try {
    await writeState(file, storage)
  } finally {
    await storage.close()
  }
}

/** Replaces everything in a data file with the state in `file`. Throws `Refusal`. */
export async function importState(file: string, data: string): Promise<void> {
  const storage = await openData(data, { replaceBy: await readState(file) })
  await storage.close()
}
