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
  /** The data file. Created with its directory if missing. `<file>.journal`, `<file>.key` and `<file>.lock` are beside it. */
  file: string
  /**
   * How large the journal may grow, in bytes, before its commits are written into the data file. Default: 8 MiB. Once the
   * data file is larger than this, the journal may grow as large as the data file.
   */
  journalLimit?: number
  /** Gets a message if the data file could not be rewritten. No data is lost: the journal has it. Default: a process warning. */
  warn?: (message: string) => void
}

/**
 * Stores rows in memory, in one JSON file, and in a journal of the commits since that file was written.
 * Only one process at a time can open it. Rejects with `StorageLocked` while a different one has it open, and with
 * `StorageDamaged` if a file is damaged. Damaged files are not changed.
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
    // An exported state has all rows in one file.
    if (Object.keys(apart).length > 0) keyFile.write({ commit, rows: apart })
    await save(low, { ...snapshot, rows: together, store })
  }
  // A crash while a file is rewritten leaves these.
  for (const half of [`${path}.next`, `${path}.journal.next`, `${path}.key.next`]) await rm(half, { force: true })
  const journal = await Journal.open({ file: `${path}.journal`, header: headerLine(store), end })
  return { tables, low, journal, keyFile, commit, store }
}

/** Applies the journal's commits to the tables. It skips commits that the snapshot has: a crash may leave them in the journal. */
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
  // After an import, a crash may leave a journal that is older than the data file. It is not needed.
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

/** The separately stored rows after a commit. */
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

/** Appends each commit to the journal. When that is large, writes the state into the data file and shortens the journal. */
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
    // Rows that moved to the key file, such as the key of an older state, must not stay in the data file.
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
      // Wait until the commit that started this, which has its number already, is in the tables.
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

  /** Every commit in the data file was in the journal first. The journal drops only commits that the data file has. */
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
