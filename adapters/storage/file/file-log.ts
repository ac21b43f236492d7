import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { Low } from 'lowdb'
import { schemaHistory } from '../../../src/core.js'
import { OutcomeUnknown, type Row, StorageUnavailable, separatelyStored } from '../../../src/storage/storage.js'
import type { Commit, CommitLog } from '../../../src/storage/tables/serial.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import type { Changes } from '../../../src/storage/transaction.js'
import { messageOf } from '../../../src/storage/unknown.js'
import { journaled, type LongFields, storeLongFields } from './commit.js'
import { BLANK, type DataFile, type Snapshot } from './data-file.js'
import { sizeOf } from './disk.js'
import { reasonOf } from './errors.js'
import type { Journal } from './journal.js'
import { removeParts } from './journal-part.js'
import { divideRows, type KeyFile } from './key-file.js'
import type { Lock } from './lock.js'

export interface FileLogOptions {
  /** Of the data file. */
  readonly path: string
  readonly store: string
  readonly tables: Tables
  readonly dataFile: DataFile
  readonly journal: Journal
  readonly keyFile: KeyFile
  readonly long: LongFields
  readonly lock: Lock
  readonly journalLimit: number
  readonly wholeLimit: number
  readonly warn: (message: string) => void
}

/** How large a journal must be, in bytes, before it is written into the data file although it may still grow. */
const WORTH_FOLDING = 4 << 20
/** It must also be so large a part of the data file, because the whole file is written. */
const PART_OF_FILE = 8
/** Without a commit for so long, or twice as long, the storage is idle. */
const IDLE_MS = 1000

/** Appends each commit to the journal. When that is large, writes the state into the data file and shortens the journal. */
export class FileLog implements CommitLog {
  onClose = () => {}
  readonly #low: Low<Snapshot>
  #commit: number
  /** The size of the journal, in bytes, at which the data file is next rewritten. */
  #bound: number
  #rewriting: Promise<void> | undefined
  /** The last commit when the storage was last looked at. */
  #seen = -1
  /** The last commit when an idle storage was last written into the data file. */
  #tried = -1
  readonly #idle: NodeJS.Timeout

  constructor(readonly files: FileLogOptions) {
    this.#low = new Low(files.dataFile, BLANK)
    this.#commit = files.journal.commit
    this.#bound = files.journalLimit
    this.#idle = setInterval(() => this.#foldIfIdle(), IDLE_MS)
    this.#idle.unref()
  }

  get fault(): StorageUnavailable | undefined {
    return this.files.journal.fault
  }

  prepare(changes: readonly Changes[]): readonly Changes[] {
    const { journal, long } = this.files
    if (journal.fault) throw journal.fault
    return this.#orFail(() => long.store(changes))
  }

  /** The journal refuses commits after an act that the disk refused. */
  #orFail<T>(act: () => T): T {
    try {
      return act()
    } catch (cause) {
      throw this.files.journal.fail(cause)
    }
  }

  append({ changes, counters }: Commit): Promise<void> {
    const { journal, keyFile, long } = this.files
    if (journal.fault) throw journal.fault
    const apart = changes.filter(({ collection }) => separatelyStored.has(collection.name))
    const number = this.#commit + 1
    if (apart.length > 0) this.#writeKeys({ commit: number, rows: changedRows(keyFile.rows, apart) })
    const together = apart.length > 0 ? changes.filter((change) => !apart.includes(change)) : changes
    const durable = journal.append(journaled(number, { changes: together, counters }, long))
    this.#commit = number
    if (journal.size > this.#bound) this.#rewriting ??= this.#rewriteInTime()
    return durable
  }

  async recover(): Promise<void> {
    const { journal, keyFile } = this.files
    await journal.recover(() => {
      keyFile.forget(journal.commit)
      this.#commit = journal.commit
    })
  }

  async replaced(): Promise<void> {
    const { path, journal, keyFile, tables, long } = this.files
    await this.#rewriting
    storeLongFields(tables, long)
    const before = this.#commit
    const commit = before + 1
    this.#writeKeys({ commit, rows: divideRows(tables.state().rows).apart })
    try {
      await this.#writeWhole(commit)
    } catch (cause) {
      if (cause instanceof OutcomeUnknown) throw cause
      try {
        // The next commit gets its number.
        keyFile.forget(before)
      } catch (error) {
        journal.fail(error)
      }
      const message = `${path} could not be written (${messageOf(cause)})`
      throw new StorageUnavailable(message, { cause, reason: reasonOf(cause) })
    }
    this.#bound = Math.max(this.files.journalLimit, 2 * (await sizeOf(path)))
    if (journal.fault) throw journal.fault
  }

  /** Writes a large journal into the data file when nobody waits for it, so that the next start need not read it. */
  #foldIfIdle(): void {
    const isIdle = this.#seen === this.#commit
    this.#seen = this.#commit
    // A try that failed is not repeated before the next commit.
    if (!isIdle || this.#tried === this.#commit || this.files.journal.size <= WORTH_FOLDING) return
    this.#tried = this.#commit
    this.#rewriting ??= this.#rewriteInTime({ ifWorthIt: true })
  }

  async #isWorthFolding(): Promise<boolean> {
    const { journal, path } = this.files
    return journal.size > Math.max(WORTH_FOLDING, (await sizeOf(path)) / PART_OF_FILE)
  }

  async close(): Promise<void> {
    const { path, journal, dataFile, lock, wholeLimit, warn } = this.files
    this.onClose()
    clearInterval(this.#idle)
    try {
      await this.#rewriting
      if (journal.fault) await this.recover()
      const isSmall = journal.size + (await sizeOf(path)) <= wholeLimit
      if (journal.parts.length > 0 && (isSmall || (await this.#isWorthFolding())))
        await this.#writeWhole(this.#commit).catch((cause: unknown) => warn(unwritten(path, cause)))
    } finally {
      await Promise.allSettled([journal.close(), dataFile.release()])
      await lock.release().catch((cause: unknown) => warn(stillLocked(path, cause)))
    }
  }

  #writeKeys(generation: Parameters<KeyFile['write']>[0]): void {
    const { journal, keyFile } = this.files
    this.#orFail(() => keyFile.write(generation, journal.commit))
  }

  /** Writes everything into the data file, so that no journal continues it. */
  async #writeWhole(commit: number): Promise<void> {
    const { dataFile, journal, path } = this.files
    const snapshot = this.#snapshot(commit)
    await this.#save(snapshot)
    await journal.exclusively(async () => {
      // They continue the file before, which stays.
      const before = journal.parts
      const unknown = await dataFile.replace([]).catch((error: unknown) => {
        if (error instanceof OutcomeUnknown) return error
        throw error
      })
      await journal.restart(commit)
      this.#commit = commit
      if (unknown) throw new OutcomeUnknown(journal.fail(unknown).message, { cause: unknown })
      await removeParts(path, before)
      this.#removeUnused(snapshot)
    })
  }

  async #rewriteInTime({ ifWorthIt = false } = {}): Promise<void> {
    const { path, journal, warn } = this.files
    try {
      if (ifWorthIt && (journal.fault || !(await this.#isWorthFolding()))) return
      // Wait until the commit that started this, which has its number already, is in the tables.
      await turnOfTheLoop()
      await this.#rewrite()
    } catch (cause) {
      this.#bound = journal.size * 2
      if (!journal.fault) warn(unwritten(path, cause))
    } finally {
      this.#rewriting = undefined
    }
  }

  /** Every commit in the data file was in the journal first. The journal drops only commits that two data files have. */
  async #rewrite(): Promise<void> {
    const { path, journal, dataFile, journalLimit } = this.files
    const commit = this.#commit
    const snapshot = this.#snapshot(commit)
    // Until then, a commit in the snapshot may still fail.
    const size = await journal.rotate()
    await this.#save(snapshot)
    await journal.exclusively(async () => {
      // A part may have begun while the snapshot was written.
      const before = journal.parts
      await dataFile.replace(journal.partsAfter(commit))
      journal.shorten(commit, size)
      await removeParts(path, before)
      this.#removeUnused(snapshot)
    })
    this.#bound = Math.max(journalLimit, 2 * (await sizeOf(path)))
  }

  #removeUnused({ rows }: Snapshot): void {
    const { long, tables } = this.files
    // Rows that nobody has read have no long fields.
    long.removeUnused((collection) => [...(rows[collection] ?? []), ...tables.rowsIn(collection)])
  }

  #snapshot(commit: number): Snapshot {
    const { store, tables } = this.files
    const { rows, ...state } = tables.partlyRead()
    return { schema: schemaHistory.current, store, commit, ...state, rows: divideRows(rows).together, journals: [] }
  }

  async #save(snapshot: Snapshot): Promise<void> {
    this.#low.data = snapshot
    try {
      await this.#low.write()
    } finally {
      this.#low.data = BLANK
    }
  }
}

function changedRows(before: Readonly<Record<string, readonly Row[]>>, changes: readonly Changes[]) {
  const after = { ...before }
  for (const { collection, rows } of changes)
    after[collection.name] = [
      ...(after[collection.name] ?? []).filter(({ id }) => !rows.has(id)),
      ...[...rows.values()].filter((row) => row !== null),
    ]
  return after
}

const unwritten = (path: string, cause: unknown): string =>
  `${path} could not be rewritten (${messageOf(cause)}). Nothing is lost: its journal goes on.`

const stillLocked = (path: string, cause: unknown): string =>
  `${path} is closed, but its lock could not be removed (${messageOf(cause)}). Others can open it when this process ends.`
