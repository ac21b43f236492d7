import { randomUUID } from 'node:crypto'
import { copyFile, link, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { schemaHistory } from '../../../src/core.js'
import type { AnyCollection } from '../../../src/storage/storage.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import { storeLongFields } from './commit.js'
import { DataFile } from './data-file.js'
import { exists, syncDirectory } from './disk.js'
import { Journal } from './journal.js'
import { divideRows, type KeyFile } from './key-file.js'
import type { LongFields } from './long-fields.js'
import { settleDataFile } from './part-names.js'
import { migrateStored, readStored, type Stored } from './stored.js'

export interface OpenFilesOptions {
  readonly path: string
  readonly collections: readonly AnyCollection[]
  /** From how many bytes on the next commit begins a new part of the journal. */
  readonly partBytes: number
  /** Throws if this process may no longer write. */
  readonly check: () => void
}

export interface OpenFiles {
  readonly tables: Tables
  readonly dataFile: DataFile
  readonly journal: Journal
  readonly keyFile: KeyFile
  readonly long: LongFields
  readonly store: string
}

/**
 * Opens the files of a storage for writing. Brings older ones to this release, after it has put a copy beside them.
 * Throws `StorageDamaged` and `SchemaNewer`.
 */
export async function openFiles(options: OpenFilesOptions): Promise<OpenFiles> {
  const { path, collections, partBytes, check } = options
  const stored = await readStored(path)
  if (stored.pending.length > 0) await keepOlder(path, stored)
  await migrateStored(path, stored, collections)
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
  const { parts, end, size } = isRewritten ? { parts: [], end: 0, size: 0 } : stored.journal
  try {
    const journal = await Journal.open({ file: path, store, commit, parts, end, size, partBytes, check })
    return { tables, dataFile, journal, keyFile, long, store }
  } catch (error) {
    await dataFile.release()
    throw error
  }
}

/** Puts a copy of an older state beside it, for the release that wrote it: such as `<file>.v1`, and its key. */
async function keepOlder(path: string, stored: Stored): Promise<void> {
  const copy = `${path}.v${stored.schema}`
  if (stored.format === 'first') {
    await keepFile(path, copy)
    await keepFile(`${path}.journal`, `${copy}.journal`)
  } else {
    const { counters, rows } = stored.tables.state()
    const { schema, store, commit } = stored
    const file = new DataFile(copy)
    await file.write({ schema, store, commit, counters, rows: divideRows(rows).together, journals: [] })
    await file.replace([])
  }
  if (await exists(`${path}.key`)) await copyFile(`${path}.key`, `${copy}.key`)
  await syncDirectory(dirname(path))
}

/** Gives a file a second name. A copy of an earlier try is replaced. */
async function keepFile(file: string, copy: string): Promise<void> {
  await rm(copy, { force: true })
  if (!(await exists(file))) return
  // Some file systems have no links.
  await link(file, copy).catch(() => copyFile(file, copy))
}

/** Removes what a crash may have left. */
async function tidy(path: string): Promise<void> {
  for (const half of [`${path}.next`, `${path}.previous.next`, `${path}.key.next`]) await rm(half, { force: true })
  // The journal of the first format is in the data file now, and kept beside its copy.
  if (!(await exists(`${path}.journal`))) return
  await rename(`${path}.journal`, `${path}.v1.journal`)
  // Renaming does nothing if both names are of one file.
  await rm(`${path}.journal`, { force: true })
}
