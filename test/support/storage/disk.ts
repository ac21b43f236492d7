import blocking, { constants, mkdirSync, type NoParamCallback, writeFileSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** What was asked of the disk, in order. A sync counts from its end for what was there at its beginning. */
export type DiskEvent =
  | { do: 'create'; file: string; inode: number; empties: boolean }
  | { do: 'write'; inode: number; at: number; bytes: Buffer }
  | { do: 'truncate'; inode: number; length: number }
  | { do: 'sync'; inode: number; sync: number }
  | { do: 'synced'; inode: number; sync: number }
  | { do: 'syncDirectory'; sync: number }
  | { do: 'syncedDirectory'; sync: number }
  | { do: 'link'; from: string; to: string }
  | { do: 'rename'; from: string; to: string }
  | { do: 'remove'; file: string }
  /** Said by the test: from here on a commit is promised. */
  | { do: 'promised'; commit: number }

export interface DiskWatch {
  /** Called before each operation on a file; throws to make it fail, and may do part of it before. */
  before?(event: DiskEvent & { handle?: FileHandle; path: string }): void | Promise<void>
}

export interface WatchedDisk {
  readonly events: DiskEvent[]
  /** Closes what the death of a process would. */
  closeAll(): Promise<void>
  stop(): void
}

/** Observes every change through `node:fs/promises` in this process until `stop` is called. */
export async function watchDisk({ before }: DiskWatch = {}): Promise<WatchedDisk> {
  const events: DiskEvent[] = []
  const inodes = new Map<string, number>()
  const opened = new Map<FileHandle, { inode: number; file: string; position: number; directory: boolean }>()
  let last = 0

  async function record<T>(event: DiskEvent, path: string, run: () => Promise<T>, handle?: FileHandle): Promise<T> {
    await before?.({ ...event, path, ...(handle && { handle }) })
    events.push(event)
    return run()
  }

  const probe = await fs.open(import.meta.filename)
  const prototype = Object.getPrototypeOf(probe) as FileHandle
  await probe.close()
  const original = {
    ...pick(fs, ['open', 'rename', 'rm', 'link']),
    ...pick(prototype, ['write', 'writeFile', 'truncate']),
    ...pick(blocking, ['fsync', 'fdatasync']),
  }
  const { open, rename, rm, link, write, writeFile, truncate } = original

  fs.open = async (path, flags, mode) => {
    const file = String(path)
    const creates = flags === 'w' || flags === 'wx' || (typeof flags === 'number' && (flags & constants.O_CREAT) !== 0)
    const known = inodes.get(file)
    const inode = known ?? ++last
    const directory = flags === constants.O_RDONLY
    if (creates) {
      const event: DiskEvent = { do: 'create', file, inode, empties: flags === 'w' }
      await before?.({ ...event, path: file })
      inodes.set(file, inode)
      events.push(event)
    }
    const handle = await open(path, flags, mode)
    opened.set(handle, { inode, file, position: 0, directory })
    return handle
  }
  fs.rename = (from, to) =>
    record({ do: 'rename', from: String(from), to: String(to) }, String(to), async () => {
      await rename(from, to)
      inodes.set(String(to), inodes.get(String(from)) as number)
      inodes.delete(String(from))
    })
  fs.link = async (from, to) => {
    const event: DiskEvent = { do: 'link', from: String(from), to: String(to) }
    await before?.({ ...event, path: event.to })
    await link(from, to)
    inodes.set(event.to, inodes.get(event.from) as number)
    events.push(event)
  }
  fs.rm = (file, options) =>
    record({ do: 'remove', file: String(file) }, String(file), async () => {
      await rm(file, options)
      inodes.delete(String(file))
    })

  const of = (handle: FileHandle) => opened.get(handle) as NonNullable<ReturnType<typeof opened.get>>
  prototype.write = async function (
    this: FileHandle,
    ...[bytes, offset, length, at]: [Buffer, number, number, number]
  ) {
    const piece = Buffer.from(bytes.subarray(offset, offset + length))
    const { inode, file } = of(this)
    const run = () => (write as (...args: unknown[]) => Promise<unknown>).call(this, bytes, offset, length, at)
    return record({ do: 'write', inode, at, bytes: piece }, file, run, this)
  } as FileHandle['write']
  prototype.writeFile = async function (this: FileHandle, text: string | Uint8Array) {
    const bytes = Buffer.from(text as string)
    const file = of(this)
    const at = file.position
    file.position += bytes.length
    await record({ do: 'write', inode: file.inode, at, bytes }, file.file, () => writeFile.call(this, bytes), this)
  } as FileHandle['writeFile']
  prototype.truncate = function (this: FileHandle, length = 0) {
    const { inode, file } = of(this)
    return record({ do: 'truncate', inode, length }, file, () => truncate.call(this, length), this)
  }
  const synced = async (name: 'fsync' | 'fdatasync', handle: FileHandle) => {
    const { inode, file, directory } = of(handle)
    const sync = ++last
    const begin: DiskEvent = directory ? { do: 'syncDirectory', sync } : { do: 'sync', inode, sync }
    await record(begin, file, () => promisify(original[name])(handle.fd), handle)
    events.push(directory ? { do: 'syncedDirectory', sync } : { do: 'synced', inode, sync })
  }
  for (const name of ['fsync', 'fdatasync'] as const)
    Object.assign(blocking, {
      [name](fd: number, done: NoParamCallback) {
        const [handle] = [...opened.keys()].filter((each) => each.fd === fd)
        if (!handle) return original[name](fd, done)
        synced(name, handle).then(() => done(null), done)
      },
    })
  syncBuiltinESMExports()

  return {
    events,
    async closeAll() {
      await Promise.all([...opened.keys()].map((handle) => handle.close()))
      opened.clear()
    },
    stop() {
      Object.assign(fs, { open, rename, rm, link })
      Object.assign(prototype, { write, writeFile, truncate })
      Object.assign(blocking, pick(original, ['fsync', 'fdatasync']))
      syncBuiltinESMExports()
    },
  }
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>
}

/** The files of a disk: what a process sees, and what is sure to be there after the machine lost its power. */
export class DiskModel {
  #names = new Map<string, number>()
  #lastingNames = new Map<string, number>()
  readonly #contents = new Map<number, Buffer>()
  readonly #lasting = new Map<number, Buffer>()
  readonly #begun = new Map<number, Buffer | Map<string, number>>()

  apply(event: DiskEvent): void {
    const content = (inode: number) => this.#contents.get(inode) ?? Buffer.alloc(0)
    if (event.do === 'create') {
      if (this.#names.get(event.file) === undefined || event.empties) this.#contents.set(event.inode, Buffer.alloc(0))
      this.#names.set(event.file, event.inode)
    } else if (event.do === 'write') {
      const old = content(event.inode)
      const written = Buffer.alloc(Math.max(old.length, event.at + event.bytes.length))
      old.copy(written)
      event.bytes.copy(written, event.at)
      this.#contents.set(event.inode, written)
    } else if (event.do === 'truncate') this.#contents.set(event.inode, content(event.inode).subarray(0, event.length))
    else if (event.do === 'sync') this.#begun.set(event.sync, content(event.inode))
    else if (event.do === 'synced') this.#lasting.set(event.inode, this.#begun.get(event.sync) as Buffer)
    else if (event.do === 'syncDirectory') this.#begun.set(event.sync, new Map(this.#names))
    else if (event.do === 'syncedDirectory') this.#lastingNames = this.#begun.get(event.sync) as Map<string, number>
    else if (event.do === 'link') this.#names.set(event.to, this.#names.get(event.from) as number)
    else if (event.do === 'rename') {
      this.#names.set(event.to, this.#names.get(event.from) as number)
      this.#names.delete(event.from)
    } else if (event.do === 'remove') this.#names.delete(event.file)
  }

  /**
   * The files of a directory after a crash. Names and contents that were not synced are there for the files for which
   * `names` and `contents` say so, and lost for others.
   */
  files(directory: string, there: Record<'names' | 'contents', (file: string) => boolean>): Map<string, Buffer> {
    const files = new Map<string, Buffer>()
    for (const file of new Set([...this.#names.keys(), ...this.#lastingNames.keys()])) {
      const inode = (there.names(file) ? this.#names : this.#lastingNames).get(file)
      if (inode === undefined || dirname(file) !== directory) continue
      files.set(file, (there.contents(file) ? this.#contents : this.#lasting).get(inode) ?? Buffer.alloc(0))
    }
    return files
  }
}

/** Lays files out in another directory. */
export function layOut(files: ReadonlyMap<string, Buffer>, from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const [file, bytes] of files) writeFileSync(join(to, file.slice(from.length + 1)), bytes)
}
