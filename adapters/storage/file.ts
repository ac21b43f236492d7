import { randomUUID } from 'node:crypto'
import { copyFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { collections as all, schemaHistory } from '../../src/core.js'
import { type AnyCollection, type Storage, StorageUnavailable } from '../../src/storage/storage.js'
import { serialStorage } from '../../src/storage/tables/serial.js'
import { messageOf } from '../../src/storage/unknown.js'
import { writeStored } from './file/backup.js'
import { storeLongFields } from './file/commit.js'
import { DataFile } from './file/data-file.js'
import { exists, nameAlso, settlePath, syncDirectory, watchFiles } from './file/disk.js'
import { isSystemError, reasonOf } from './file/errors.js'
import { FileLog, type FileLogOptions } from './file/file-log.js'
import { Journal, type JournalOptions } from './file/journal.js'
import { settleDataFile } from './file/journal-part.js'
import { divideRows } from './file/key-file.js'
import { takeLock } from './file/lock.js'
import { checkUniqueKeys, migrateStored, readStored, type Stored } from './file/stored.js'

export { StorageDamaged, StorageLocked } from './file/errors.js'

export interface FileStorageOptions {
  /**
   * The data file. Created with its directory if missing. Beside it are the parts of its journal, `<file>.key`,
   * `<file>.lock`, and `<file>.previous`, the last data file before it. If an older release wrote it, a copy is put
   * beside it first, such as `<file>.v1`.
   */
  file: string
  /** Every collection, for the check of unique keys on opening. Default: the service's collections. */
  collections?: readonly AnyCollection[]
  /**
   * How large the journal may grow, in bytes, before its commits are written into the data file. Default: 32 MiB. Once
   * the data file is half as large, the journal may grow twice as large as the data file.
   */
  journalLimit?: number
  /** How large a part of the journal may grow, in bytes. Default: 64 MiB. */
  partBytes?: number
  /**
   * How large data file and journal may be together, in bytes, so that closing writes everything into the data file.
   * Closing a larger storage leaves a small journal beside it: one of at most 4 MiB, or of an eighth of the data file.
   * Default: 4 MiB.
   */
  wholeLimit?: number
  /**
   * Gets a message if the data file could not be rewritten, or if a different program deleted or replaced a file. No
   * data is lost: the message says where it is. Default: a process warning.
   */
  warn?: (message: string) => void
}

/**
 * Stores rows in memory, in a text file with a line for each row, and in a journal of the commits since that file was
 * written. Only one process at a time can open it. Rejects with `StorageLocked` while a different one has it open,
 * with `StorageDamaged` if a file is damaged, and with `SchemaNewer` if a newer release wrote it. Such files are not
 * changed. Opening and closing reject with `StorageUnavailable` if the disk does not take writes at that time.
 */
export async function fileStorage(options: FileStorageOptions): Promise<Storage> {
  try {
    return await openStorage(options)
  } catch (cause) {
    if (!isSystemError(cause)) throw cause
    throw new StorageUnavailable(
      `${options.file} could not be opened (${messageOf(cause)}). Everything that was confirmed is stored. ` +
        'Open it again when the system allows that',
      { cause, reason: reasonOf(cause) },
    )
  }
}

async function openStorage({
  file,
  collections = all,
  journalLimit = 32 << 20,
  partBytes = 64 << 20,
  wholeLimit = 4 << 20,
  warn = (message) => process.emitWarning(message),
}: FileStorageOptions): Promise<Storage> {
  const path = await settlePath(file)
  const lock = await takeLock(`${path}.lock`)
  try {
    const opened = await openFiles(path, collections, { partBytes, check: () => lock.check() })
    const files = { ...opened, path, lock, journalLimit, wholeLimit, warn }
    const log = new FileLog(files)
    const storage = serialStorage({ name: 'file', tables: files.tables, log, history: schemaHistory })
    const watch = watchFiles(
      () => [files.dataFile.watched, files.journal.watched],
      (what) => void saveAside(what, storage, files),
    )
    log.onClose = () => watch.end()
    return storage
  } catch (error) {
    await lock.release().catch(() => {})
    throw error
  }
}

/** Writes the whole state beside files that a different program deleted or replaced, as `what` says. The storage takes no more writes. */
async function saveAside(what: string, storage: Storage, { path, journal, store, warn }: FileLogOptions) {
  const reason = 'a different program deleted or replaced the files of the storage'
  await journal.lose(
    new StorageUnavailable(`${what}. Nothing can be stored until this process starts again`, { reason }),
  )
  const { commit } = journal
  const to = `${path}.saved-${commit}`
  try {
    const { schema = schemaHistory.current, counters, rows } = await storage.export()
    await writeStored(to, { schema, store, commit, counters, rows })
    warn(`${what}. Everything that was confirmed is in ${to}: stop this process, and start it again with that file.`)
  } catch (cause) {
    warn(`${what}, and the state could not be saved (${messageOf(cause)}). Export it before you stop this process.`)
  }
}

/**
 * Opens the files of a storage for writing. Brings older ones to this release, after it has put a copy beside them.
 * Throws `StorageDamaged` and `SchemaNewer`.
 */
async function openFiles(
  path: string,
  collections: readonly AnyCollection[],
  writing: Pick<JournalOptions, 'partBytes' | 'check'>,
) {
  const stored = await readStored(path)
  if (stored.pending.length > 0) await keepOlder(path, stored)
  await migrateStored(path, stored)
  checkUniqueKeys(path, stored.tables, collections)
  const { tables, keyFile, long, commit } = stored
  const store = stored.store || randomUUID()
  const dataFile = new DataFile(path, long)
  const isRewritten = stored.format !== 'lines' || stored.pending.length > 0
  if (isRewritten) {
    storeLongFields(tables, long)
    const { counters, rows } = tables.state()
    const { together, apart } = divideRows(rows)
    // An older state may hold its key among the other rows.
    if (Object.keys(apart).length > 0) keyFile.write({ commit, rows: apart }, commit)
    await dataFile.write({ schema: schemaHistory.current, store, commit, counters, rows: together, journals: [] })
    await dataFile.replace([])
  } else await settleDataFile(path, stored.partNames)
  await tidy(path)
  await dataFile.hold()
  try {
    const journalNow = isRewritten ? { parts: [], end: 0, size: 0 } : stored.journal
    const journal = await Journal.open({ file: path, store, commit, ...journalNow, ...writing })
    return { tables, dataFile, journal, keyFile, long, store }
  } catch (error) {
    await dataFile.release()
    throw error
  }
}

/** Puts a copy of an older state beside it, for the release that wrote it: such as `<file>.v1`, and its key. */
async function keepOlder(path: string, { format, schema, store, commit, tables }: Stored): Promise<void> {
  const copy = `${path}.v${schema}`
  if (format === 'first')
    for (const end of ['', '.journal']) {
      // A copy of an earlier try is replaced.
      await rm(copy + end, { force: true })
      await nameAlso(path + end, copy + end)
    }
  else {
    const { counters, rows } = tables.state()
    const file = new DataFile(copy)
    await file.write({ schema, store, commit, counters, rows: divideRows(rows).together, journals: [] })
    await file.replace([])
  }
  if (await exists(`${path}.key`)) await copyFile(`${path}.key`, `${copy}.key`)
  await syncDirectory(dirname(path))
}

async function tidy(path: string): Promise<void> {
  for (const half of ['', '.previous', '.key']) await rm(`${path}${half}.next`, { force: true })
  // The journal of the first format is in the data file now, and kept beside its copy.
  if (!(await exists(`${path}.journal`))) return
  await rename(`${path}.journal`, `${path}.v1.journal`)
  // Renaming does nothing if both names are of one file.
  await rm(`${path}.journal`, { force: true })
}
