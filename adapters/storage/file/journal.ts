import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { StorageUnavailable } from '../../../src/storage/storage.js'
import { messageOf } from '../../../src/storage/unknown.js'
import { PRIVATE, replaceFile, syncDirectory } from './disk.js'

export interface JournalOptions {
  readonly file: string
  /** The first line of a journal that is not empty. */
  readonly header: string
  /** Where the last whole line ends, in bytes. The rest of the file is dropped. */
  readonly end: number
}

/** Lines that are written to the disk together. */
interface Group {
  readonly lines: string[]
  readonly durable: Promise<void>
}

/** A file of lines. A line is on the disk when its promise resolves. While one group of lines is written, the next one collects. */
export class Journal {
  readonly #file: string
  readonly #header: string
  #handle: FileHandle
  #end: number
  #gathering: Group | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #failed: StorageUnavailable | undefined

  private constructor({ file, header, end }: JournalOptions, handle: FileHandle) {
    this.#file = file
    this.#header = header
    this.#end = end
    this.#handle = handle
  }

  static async open(options: JournalOptions): Promise<Journal> {
    const handle = await open(options.file, constants.O_RDWR | constants.O_CREAT, PRIVATE)
    try {
      // A data file may replace the lines dropped here, so its name must be on the disk first.
      await syncDirectory(dirname(options.file))
      if ((await handle.stat()).size > options.end) await handle.truncate(options.end)
      await handle.sync()
    } catch (error) {
      await handle.close()
      throw error
    }
    return new Journal(options, handle)
  }

  /** The size on the disk, in bytes. */
  get size(): number {
    return this.#end
  }

  /** Whether a write failed. After that, the journal refuses every line. */
  get hasFailed(): boolean {
    return this.#failed !== undefined
  }

  append(line: string): Promise<void> {
    this.#gathering ??= this.#gather()
    this.#gathering.lines.push(line)
    return this.#gathering.durable
  }

  /** Resolves with the end of the last line appended so far, once that line is on the disk. */
  mark(): Promise<number> {
    this.#gathering = undefined
    return this.#inTurn(async () => this.#end)
  }

  /** Drops the lines before a mark. Lines can be appended meanwhile. If this rejects, the journal is unchanged or has failed. */
  async cut(mark: number): Promise<void> {
    if (mark === 0) return
    const file = `${this.#file}.next`
    const next = await open(file, 'w', PRIVATE)
    try {
      if (this.#end > mark) await next.writeFile(this.#header)
      const copied = this.#end
      await copyLines(this.#handle, mark, copied, next)
      await next.sync()
      await this.#inTurn(async () => {
        if (copied === mark && this.#end > copied) await next.writeFile(this.#header)
        await copyLines(this.#handle, copied, this.#end, next)
        await next.sync()
        const { size } = await next.stat()
        await next.close()
        await this.#replaceWith(file, size)
      })
    } catch (error) {
      await next.close().catch(ignore)
      await rm(file, { force: true }).catch(ignore)
      throw error
    }
  }

  /** Refuses every line from now on, because nobody knows what the disk holds. Returns the error for callers. */
  fail(cause: unknown, file = this.#file): StorageUnavailable {
    this.#failed ??= new StorageUnavailable(
      `${file} could not be written (${messageOf(cause)}). Make room or repair the disk, then open the storage again: all that was confirmed is there.`,
      { cause },
    )
    return this.#failed
  }

  async close(): Promise<void> {
    await this.#tail
    await this.#handle.close()
  }

  #gather(): Group {
    const durable = this.#inTurn(async () => {
      // Wait one turn of the event loop: requests that it reads, and callers of the last group, join this group.
      await turnOfTheLoop()
      if (this.#gathering === group) this.#gathering = undefined
      await this.#write(group.lines.join(''))
    })
    const group: Group = { lines: [], durable }
    return group
  }

  #inTurn<T>(job: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => {
      if (this.#failed) throw this.#failed
      return job()
    })
    this.#tail = turn.catch(ignore)
    return turn
  }

  async #write(lines: string): Promise<void> {
    const bytes = Buffer.from(this.#end === 0 ? this.#header + lines : lines)
    try {
      for (let at = 0; at < bytes.length; )
        at += (await this.#handle.write(bytes, at, bytes.length - at, this.#end + at)).bytesWritten
      await this.#handle.datasync()
      this.#end += bytes.length
    } catch (cause) {
      // Remove the failed lines, so that the next opening does not find them. If this fails too, it may find them.
      await this.#handle.truncate(this.#end).catch(ignore)
      await this.#handle.datasync().catch(ignore)
      throw this.fail(cause)
    }
  }

  async #replaceWith(file: string, size: number): Promise<void> {
    // Windows cannot replace an open file.
    await this.#handle.close()
    const unreplaced = await replaceFile(file, this.#file).catch((error: unknown) => error)
    try {
      this.#handle = await open(this.#file, constants.O_RDWR)
      if (unreplaced) throw unreplaced
      await syncDirectory(dirname(this.#file))
      this.#end = size
    } catch (cause) {
      throw cause === unreplaced ? cause : this.fail(cause)
    }
  }
}

async function copyLines(from: FileHandle, start: number, end: number, to: FileHandle): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(1 << 20, end - start))
  for (let at = start; at < end; ) {
    const { bytesRead } = await from.read(piece, 0, Math.min(piece.length, end - at), at)
    if (bytesRead === 0) throw new Error('the journal is shorter than the lines that were written to it')
    await to.writeFile(piece.subarray(0, bytesRead))
    at += bytesRead
  }
}

function ignore(): void {}
