import { exists } from '../../adapters/storage/file/disk.js'
import { Refusal } from '../refusal.js'
import { openData, readState, writeState } from '../state.js'

/** Writes the state of a data file, whole, into another file. */
export async function exportState(file: string, data: string): Promise<void> {
  if (!(await exists(data))) throw new Refusal(`there is no data in ${data}: say where it is by --data`)
  const storage = await openData(data)
  try {
    await writeState(file, storage)
  } finally {
    await storage.close()
  }
}

/** Puts the state in a file in the place of all that a data file holds. */
export async function importState(file: string, data: string): Promise<void> {
  const storage = await openData(data, { replaceBy: await readState(file) })
  await storage.close()
}
