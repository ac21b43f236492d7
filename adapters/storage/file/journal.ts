import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { OutcomeUnknown, StorageUnavailable } from '../../../src/storage/storage.js'
import { ignore, messageOf } from '../../../src/storage/unknown.js'
import type { JournaledCommit } from './commit.js'
import {
  identityOf,
  PRIVATE,
  syncContent,
  syncDirectory,
  syncFile,
  type WatchedFile,
  writeAgain,
  writeBytes,
} from './disk.js'
import { reasonOf, StorageLocked } from './errors.js'
import { appendJournalPart, type JournalPart, partFile, writeAt } from './journal-part.js'
import { objectLine } from './line.js'
import { Packing } from './packing.js'

export interface JournalOptions {
  /** The data file. */
  readonly file: string
  readonly store: string
  readonly commit: number
  readonly parts: readonly JournalPart[]
  /** Where the last commit of the newest part ends, and the size of all parts, in bytes. */
  readonly end: number
  readonly size: number
  /** From how many bytes on the next commit begins a new part. */
  readonly partBytes: number
  /** Throws if this process may no longer write. Called before each write to the disk. */
  readonly check: () => void
}

/** Commits that are written to the disk together. `last`: the number of the last one. */
interface Group {
  readonly lines: string[]
  readonly packing: Packing
  last: number
  readonly durable: Promise<void>
}

interface OpenPart {
  readonly part: JournalPart
  readonly watched: WatchedFile
  readonly handle: FileHandle
  /** Where its last confirmed commit ends. */
  end: number
  /** Up to where it has bytes, because empty space was written after that commit. */
  reserved: number
}

/** How much empty space to write at once, and from which size on, as parts of `partBytes`: 1 MiB from 256 KiB on. */
const RESERVE = 64
const RESERVE_FROM = 256

/**
 * Appends commits to the newest part of a journal. A commit is on the disk when its promise resolves. While one group
 * of commits is written, the next one collects.
 *
 * A write that fails is taken back, and the journal refuses commits until `recover` succeeds. Its commits reject with
 * `StorageUnavailable`, or with `OutcomeUnknown` if they could not be taken back.
 */
export class Journal {
  /** The last commit that is on the disk. */
  commit: number
  /** The parts that continue the data file. */
  parts: readonly JournalPart[]
  /** The bytes of the commits that the data file does not hold. */
  size: number
  readonly #options: JournalOptions
  #current: OpenPart | undefined
  /** A part that the data file may name already. The next try to begin one uses it, so that few files are left. */
  #begun: OpenPart | undefined
  #gathering: Group | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #fault: StorageUnavailable | undefined
  #lost: StorageUnavailable | undefined

  private constructor(options: JournalOptions, current: OpenPart | undefined) {
    this.#options = options
    this.#current = current
    this.commit = options.commit
    this.parts = options.parts
    this.size = options.size
  }

  static async open(options: JournalOptions): Promise<Journal> {
    const { file, parts, end } = options
    const part = parts.at(-1)
    if (!part) return new Journal(options, undefined)
    const path = partFile(file, part)
    const handle = await open(path, 'r+')
    try {
      if ((await handle.stat()).size > end) await handle.truncate(end)
      await writeAgain(handle, 0, end)
      const watched = { file: path, identity: await identityOf(handle) }
      return new Journal(options, { part, watched, end, reserved: end, handle })
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Why no commit can be written now. Undefined while all is well. */
  get fault(): StorageUnavailable | undefined {
    return this.#lost ?? this.#fault
  }

  get watched(): WatchedFile | undefined {
    return this.#current?.watched
  }

  /** Throws `StorageUnavailable`, and appends nothing, while there is a fault. */
  append(commit: JournaledCommit): Promise<void> {
    if (this.fault) throw this.fault
    this.#gathering ??= this.#gather()
    this.#gathering.lines.push(this.#gathering.packing.lineOf(commit))
    this.#gathering.last = commit.commit
    return this.#gathering.durable
  }

  /** Begins a part for the next commit, once all commits appended so far are on the disk. Returns the size before it. */
  rotate(): Promise<number> {
    return this.exclusively(async () => {
      if (this.#current?.part.journal !== this.commit + 1) await this.#begin()
      return this.size
    })
  }

  /** Runs a job when all commits appended so far are on the disk, and before later ones are written. */
  exclusively<T>(job: () => Promise<T>): Promise<T> {
    this.#gathering = undefined
    return this.#inTurn(() => {
      this.#check()
      return job()
    })
  }

  partsAfter(commit: number): readonly JournalPart[] {
    return this.parts.filter(({ journal }) => journal > commit)
  }

  /** The data file now holds the commits up to this one, which took `size` bytes. */
  shorten(commit: number, size: number): void {
    this.parts = this.partsAfter(commit)
    this.size -= size
  }

  /** The data file now holds everything, up to this commit. The next one begins a part. */
  async restart(commit: number): Promise<void> {
    await this.#current?.handle.close().catch(ignore)
    await this.#dropBegun()
    this.#current = undefined
    this.parts = []
    this.commit = commit
    this.size = 0
  }

  /** Tries to write again after a fault. `begin` runs once, before the next commit. Rejects with `StorageUnavailable`. */
  recover(begin: () => void): Promise<void> {
    this.#tail = this.#tail.then(async () => {
      if (this.#lost || !this.#fault) return
      try {
        this.#check()
        // Lines that could not be taken back stay in the old part, after the commit before which this one begins.
        await this.#begin()
        begin()
        this.#fault = undefined
      } catch (cause) {
        this.fail(cause)
      }
    })
    return this.#tail.then(() => {
      if (this.fault) throw this.fault
    })
  }

  /** Refuses commits until `recover` succeeds. */
  fail(cause: unknown): StorageUnavailable {
    const message = `${this.#options.file} could not be written (${messageOf(cause)}). Everything that was confirmed is stored`
    this.#fault =
      cause instanceof StorageUnavailable ? cause : new StorageUnavailable(message, { cause, reason: reasonOf(cause) })
    return this.#fault
  }

  /** Refuses every commit from now on, for good. Resolves when the commits that are being written are on the disk. */
  async lose(reason: StorageUnavailable): Promise<void> {
    await (this.#tail = this.#tail.then(() => void (this.#lost ??= reason)))
  }

  async close(): Promise<void> {
    await this.#tail
    await this.#dropBegun()
    if (this.#current) await this.#dropReserve(this.#current)
    await this.#current?.handle.close()
  }

  #gather(): Group {
    const depart = () => {
      if (this.#gathering === group) this.#gathering = undefined
    }
    const durable = this.#inTurn(async () => {
      // Wait one turn of the event loop: requests that it reads, and callers of the last group, join this group.
      await turnOfTheLoop()
      depart()
      await this.#write(group)
    })
    // Its turn never comes after a fault.
    durable.catch(depart)
    const group: Group = { lines: [], packing: new Packing(), last: 0, durable }
    return group
  }

  #inTurn<T>(job: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => {
      if (this.fault) throw this.fault
      return job()
    })
    this.#tail = turn.catch(ignore)
    return turn
  }

  async #write({ lines, last }: Group): Promise<void> {
    this.#check()
    const bytes = Buffer.from(lines.join(''))
    const { partBytes } = this.#options
    let current = this.#current
    if (!current || current.end > partBytes) current = await this.#begin()
    await this.#reserve(current, bytes.length)
    try {
      await writeAt(current.handle, bytes, current.end)
    } catch (cause) {
      const fault = this.fail(cause)
      throw (await this.#takeBack(current)) ? fault : new OutcomeUnknown(fault.message, { cause, reason: fault.reason })
    }
    current.end += bytes.length
    this.size += bytes.length
    this.commit = last
  }

  /** Writes empty space for the next commits of a large part: a sync of a file that does not grow takes half as long. */
  async #reserve(part: OpenPart, length: number): Promise<void> {
    const { partBytes } = this.#options
    const { handle, end } = part
    if (end < partBytes / RESERVE_FROM || end + length <= part.reserved) return
    part.reserved = end + length + Math.ceil(partBytes / RESERVE)
    try {
      await writeBytes(handle, Buffer.alloc(part.reserved - end), end)
      await syncFile(handle)
    } catch {
      // The disk may still take the commits, which are smaller. They need the space.
      await handle.truncate(end).catch(ignore)
    }
  }

  /** Removes the empty space after the last commit. If it stays, whoever reads the part does so. */
  async #dropReserve({ handle, end, reserved }: OpenPart): Promise<void> {
    if (reserved > end) await handle.truncate(end).catch(ignore)
  }

  #check(): void {
    try {
      this.#options.check()
    } catch (cause) {
      if (!(cause instanceof StorageLocked)) throw this.fail(cause)
      const reason = 'a different process has the storage open'
      throw (this.#lost ??= new StorageUnavailable(messageOf(cause), { cause, reason }))
    }
  }

  /** Removes what a failed write left. Returns false if it is unknown whether it is on the disk. */
  async #takeBack(part: OpenPart): Promise<boolean> {
    const { handle, end } = part
    part.reserved = end
    try {
      await handle.truncate(end)
      await syncContent(handle)
      return true
    } catch {
      return false
    }
  }

  /**
   * Begins a part for the commit after the last one on the disk. The data file names it before it holds any commit.
   * Throws `StorageUnavailable`. The part before it takes no more commits then, because the data file may name this one.
   */
  async #begin(): Promise<OpenPart> {
    try {
      const journal = this.commit + 1
      if (this.#begun?.part.journal !== journal) {
        await this.#dropBegun()
        this.#begun = await this.#createPart(journal)
      }
      const begun = this.#begun
      await appendJournalPart(this.#options.file, begun.part)
      this.#begun = undefined
      if (this.#current) await this.#dropReserve(this.#current)
      await this.#current?.handle.close().catch(ignore)
      this.parts = [...this.parts, begun.part]
      this.#current = begun
      return begun
    } catch (cause) {
      throw this.fail(cause)
    }
  }

  async #createPart(journal: number): Promise<OpenPart> {
    const { file, store } = this.#options
    const part = { journal, id: randomUUID().slice(0, 8) }
    const path = partFile(file, part)
    const head = Buffer.from(objectLine({ ...part, store }))
    const handle = await open(path, 'wx', PRIVATE)
    try {
      await writeAt(handle, head, 0)
      await syncDirectory(dirname(file))
      return {
        part,
        watched: { file: path, identity: await identityOf(handle) },
        handle,
        end: head.length,
        reserved: head.length,
      }
    } catch (error) {
      await handle.close().catch(ignore)
      await rm(path, { force: true }).catch(ignore)
      throw error
    }
  }

  async #dropBegun(): Promise<void> {
    await this.#begun?.handle.close().catch(ignore)
    this.#begun = undefined
  }
}
