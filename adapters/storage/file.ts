import { randomUUID } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { Low } from 'lowdb'
import { type Commit, type CommitLog, serialStorage } from '../../src/storage/serial.js'
import { type Row, type Storage, separatelyStored } from '../../src/storage/storage.js'
import { Tables } from '../../src/storage/tables.js'
import type { Changes } from '../../src/storage/transaction.js'
import { messageOf } from '../../src/storage/unknown.js'
import { BLANK, DataFile, type Snapshot } from './file/data-file.js'
import { settlePath } from './file/disk.js'
import { StorageDamaged } from './file/errors.js'
import { Journal } from './file/journal.js'
import { commitLine, headerLine, REMEDY, readJournal } from './file/journal-lines.js'
import { divideRows, KeyFile } from './file/key-file.js'
import { type Lock, takeLock } from './file/lock.js'

export { StorageDamaged, StorageLocked } from './file/errors.js'

export interface FileStorageOptions {
  /** The data file: made, with its directory, where there is none. `<file>.journal`, `<file>.key` and `<file>.lock` lie beside it. */
  file: string
  /** How large the journal may grow, in bytes, before it is written into the data file; it may always be as large as that. */
  journalLimit?: number
  /** Told when the data file could not be rewritten. Nothing is lost by that: the journal goes on. */
  warn?: (message: string) => void
}

/**
 * Rows in memory, kept in one JSON file and a journal of what was committed since that was written.
 * For one process at a time. Throws `StorageLocked` while another one has it open, and `StorageDamaged`, changing nothing,
 * on files that do not hold what was written to them.
 */
export async function fileStorage({
  file,
  journalLimit = 8 << 20,
  warn = (message) => process.emitWarning(message),
}: FileStorageOptions): Promise<Storage> {
  const path = await settlePath(file)
  const lock = await takeLock(`${path}.lock`)
  try {
    const opened = await openFiles(path)
    const log = new FileLog({ ...opened, path, lock, journalLimit, warn })
    return serialStorage({ name: 'file', tables: opened.tables, log })
  } catch (error) {
    await lock.release()
    throw error
  }
}

interface Opened {
  readonly tables: Tables
  readonly low: Low<Snapshot>
  readonly journal: Journal
  readonly keyFile: KeyFile
  /** The last commit that the files hold. */
  readonly commit: number
  readonly store: string
}

async function openFiles(path: string): Promise<Opened> {
  const low = new Low<Snapshot>(new DataFile(path), BLANK)
  await low.read()
  const snapshot = low.data
  low.data = BLANK
  const tables = new Tables(snapshot)
  const keyFile = await KeyFile.open(`${path}.key`)
  const { commit, end } = await replay(`${path}.journal`, snapshot, tables)
  const { together, apart } = divideRows(snapshot.rows)
  for (const [name, rows] of Object.entries(keyFile.settle(commit)))
    for (const row of rows) tables.restore(name, row.id, row)

  const store = snapshot.store || randomUUID()
  if (!snapshot.store) {
    // An exported state holds all of its rows in one file.
    if (Object.keys(apart).length > 0) keyFile.write({ commit, rows: apart })
    await save(low, { ...snapshot, rows: together, store })
  }
  // Left behind where a rewriting was cut short.
  for (const half of [`${path}.next`, `${path}.journal.next`, `${path}.key.next`]) await rm(half, { force: true })
  const journal = await Journal.open({ file: `${path}.journal`, header: headerLine(store), end })
  return { tables, low, journal, keyFile, commit, store }
}

/** Lands what was committed since the snapshot. A journal still holds commits of it where its emptying was cut short. */
async function replay(
  file: string,
  { store, commit: base }: Snapshot,
  tables: Tables,
): Promise<{ commit: number; end: number }> {
  const journal = await readJournal(file)
  if (journal.store !== undefined && journal.store !== store)
    throw new StorageDamaged(file, 1, `this journal goes on from another data file than the one beside it. ${REMEDY}`)
  let last: number | undefined
  for (const [{ commit, counters, rows, removed }, line] of journal.commits) {
    if (last === undefined ? commit > base + 1 : commit !== last + 1)
      throw new StorageDamaged(
        file,
        line,
        `commit ${(last ?? base) + 1} is missing before this one, ${commit}. ${REMEDY}`,
      )
    last = commit
    if (commit <= base) continue
    for (const [name, given] of Object.entries(counters ?? {})) tables.setCounter(name, given)
    for (const [name, ids] of Object.entries(removed ?? {})) for (const id of ids) tables.restore(name, id, null)
    for (const [name, put] of Object.entries(rows ?? {})) for (const row of put) tables.restore(name, row.id, row)
  }
  // The data file holds more than its journal where that was not emptied after a state was imported: none of it is needed.
  if (last === undefined || last < base) return { commit: base, end: 0 }
  return { commit: last, end: journal.end }
}

async function save(low: Low<Snapshot>, snapshot: Snapshot): Promise<void> {
  low.data = snapshot
  try {
    await low.write()
  } finally {
    low.data = BLANK
  }
}

/** The rows kept apart as a commit leaves them. */
function changedRows(before: Readonly<Record<string, readonly Row[]>>, changes: readonly Changes[]) {
  const after = { ...before }
  for (const { collection, rows } of changes)
    after[collection.name] = [
      ...(after[collection.name] ?? []).filter(({ id }) => !rows.has(id)),
      ...[...rows.values()].filter((row) => row !== null),
    ]
  return after
}

interface FileLogOptions extends Opened {
  readonly path: string
  readonly lock: Lock
  readonly journalLimit: number
  readonly warn: (message: string) => void
}

/** Writes each commit into the journal, and now and then the whole state into the data file and the journal anew. */
class FileLog implements CommitLog {
  readonly #files: FileLogOptions
  #commit: number
  /** The size of the journal at which the data file is next rewritten. */
  #bound: number
  #rewriting: Promise<void> | undefined

  constructor(files: FileLogOptions) {
    this.#files = files
    this.#commit = files.commit
    this.#bound = files.journalLimit
  }

  append({ changes, counters }: Commit): Promise<void> {
    const { journal, keyFile } = this.#files
    const apart = changes.filter(({ collection }) => separatelyStored.has(collection.name))
    const number = this.#commit + 1
    if (apart.length > 0) keyFile.write({ commit: number, rows: changedRows(keyFile.rows, apart) })
    const together = apart.length > 0 ? changes.filter((change) => !apart.includes(change)) : changes
    const durable = journal.append(commitLine(number, { changes: together, counters }))
    this.#commit = number
    // What was moved out of the data file, such as the key of an older state, does not stay in it.
    const isMoved = apart.length > 0 && number > 1
    if (isMoved || journal.size > this.#bound) this.#rewriting ??= this.#rewriteInTime()
    return durable
  }

  async replaced(): Promise<void> {
    const { path, journal, keyFile, tables } = this.#files
    await this.#rewriting
    this.#commit++
    keyFile.write({ commit: this.#commit, rows: divideRows(tables.capture().rows).apart })
    await this.#rewrite().catch((cause: unknown) => {
      throw journal.fail(cause, path)
    })
  }

  async close(): Promise<void> {
    const { journal, lock } = this.#files
    try {
      await this.#rewriting
      if (journal.size > 0) await this.#rewriteInTime()
      await journal.close()
    } finally {
      await lock.release()
    }
  }

  async #rewriteInTime(): Promise<void> {
    const { path, journal, warn } = this.#files
    try {
      // Out of the commit that asked for it, which is numbered and not yet landed.
      await turnOfTheLoop()
      await this.#rewrite()
    } catch (error) {
      this.#bound = journal.size * 2
      if (!journal.hasFailed)
        warn(`${path} could not be rewritten (${messageOf(error)}). Nothing is lost: its journal goes on.`)
    } finally {
      this.#rewriting = undefined
    }
  }

  /** The data file never holds what the journal did not hold before, and the journal drops only what the data file holds. */
  async #rewrite(): Promise<void> {
    const { path, tables, low, journal, store, journalLimit } = this.#files
    const { counters, rows } = tables.capture()
    const snapshot = { ...BLANK, store, commit: this.#commit, counters, rows: divideRows(rows).together }
    const mark = await journal.mark()
    await save(low, snapshot)
    await journal.cut(mark)
    this.#bound = Math.max(journalLimit, (await stat(path)).size)
  }
}
