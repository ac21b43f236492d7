import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { DataFile, type Snapshot } from './data-file.js'
import { exists } from './disk.js'
import { StorageDamaged } from './errors.js'
import { divideRows, KeyFile } from './key-file.js'
import { readStored } from './stored.js'

const TRIES = 20
const BETWEEN_MS = 100

/**
 * Writes the state of a storage into a new data file and its key file, while another process may use the storage. It
 * holds every write that was confirmed before the call. Throws `StorageDamaged` and `SchemaNewer`, and then there is no
 * new file.
 */
export async function copyStored(
  path: string,
  to: string,
): Promise<{ readonly commit: number; readonly rows: number }> {
  for (let attempt = 1; ; attempt++)
    try {
      const { schema, store, commit, tables } = await readStored(path)
      if (commit === 0 && !(await exists(path))) throw new StorageDamaged(path, undefined, 'the file is missing')
      const { counters, rows } = tables.state()
      await writeStored(to, { schema, store, commit, counters, rows })
      return { commit, rows: countRows(rows) }
    } catch (error) {
      // The process that uses it may have replaced files in between.
      if (!(error instanceof StorageDamaged) || attempt === TRIES) throw error
      await delay(BETWEEN_MS)
    }
}

/**
 * Writes a state into a new data file and its key file, reads the file again, and then gives it its name. Throws
 * `StorageDamaged` if the disk did not keep it.
 */
export async function writeStored(to: string, { rows, ...head }: Omit<Snapshot, 'journals'>): Promise<void> {
  const { together, apart } = divideRows(rows)
  const file = new DataFile(to)
  try {
    await file.write({ ...head, rows: together, journals: [] })
    const written = await new DataFile(`${to}.next`).read()
    if (!written || countRows(written.rows) !== countRows(together))
      throw new StorageDamaged(to, undefined, 'the disk did not keep what was written')
    if (Object.keys(apart).length > 0) {
      const { commit } = head
      const keys = await KeyFile.open(`${to}.key`)
      keys.write({ commit, rows: apart }, commit)
    }
    await file.replace([])
  } catch (error) {
    await file.discard()
    await rm(`${to}.key`, { force: true })
    throw error
  }
}

const countRows = (rows: Snapshot['rows']): number =>
  Object.values(rows).reduce((count, list) => count + list.length, 0)
