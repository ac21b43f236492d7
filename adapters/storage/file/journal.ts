import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { StorageUnavailable } from '../../../src/storage/storage.js'
import { messageOf } from '../../../src/storage/unknown.js'
import { PRIVATE, replaceFile, syncDirectory } from './disk.js'

export interface JournalOptions {
  readonly file: string
  /** What every journal that is not empty starts with. */
  readonly header: string
  /** Where the last whole line ends; what is behind is dropped. */
  readonly end: number
}

/** Lines that reach the disk together. */
interface Group {
  readonly lines: string[]
  readonly durable: Promise<void>
}

/** A file of lines, each on the disk before its promise resolves. While one group of lines is on its way, the next one gathers. */
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
      // What is dropped may be what a data file holds whose name is not on the disk yet.
      await syncDirectory(dirname(options.file))
      if ((await handle.stat()).size > options.end) await handle.truncate(options.end)
      await handle.sync()
    } catch (error) {
      await handle.close()
      throw error
    }
    return new Journal(options, handle)
  }

  /** Bytes on the disk. */
  get size(): number {
    return this.#end
  }

  /** Whether a write failed, after which nothing is taken. */
  get hasFailed(): boolean {
    return this.#failed !== undefined
  }

  append(line: string): Promise<void> {
    this.#gathering ??= this.#gather()
    this.#gathering.lines.push(line)
    return this.#gathering.durable
  }

  /** Where the last line appended until now ends, once it is on the disk. */
  mark(): Promise<number> {
    this.#gathering = undefined
    return this.#inTurn(async () => this.#end)
  }

  /** Drops the lines before a mark, and takes lines meanwhile. Where this throws, the journal is whole, or has failed. */
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

  /** Takes nothing more: once it is unknown what the disk holds, nothing may be built upon it. Gives what to tell whoever asks. */
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
      // Whoever was answered by the group before, or is read from the network in this turn of the loop, goes along.
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
      // What was refused should not be found by the next one who opens the file; if this fails as well, it may be.
      await this.#handle.truncate(this.#end).catch(ignore)
      await this.#handle.datasync().catch(ignore)
      throw this.fail(cause)
    }
  }

  async #replaceWith(file: string, size: number): Promise<void> {
    // Windows replaces no open file.
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
    if (bytesRead === 0) throw new Error('the journal is shorter than what was written to it')
    await to.writeFile(piece.subarray(0, bytesRead))
    at += bytesRead
  }
}

function ignore(): void {}
