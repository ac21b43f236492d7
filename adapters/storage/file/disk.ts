import fs, { constants } from 'node:fs'
import { copyFile, type FileHandle, link, mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The mode of every file: only the user that runs the process may read it. */
export const PRIVATE = 0o600

/** Returns the real path of a file, so that all paths to it share one lock. Creates its directory. */
export async function settlePath(file: string): Promise<string> {
  const path = resolve(file)
  await makeDirectory(dirname(path))
  return (await exists(path)) ? realpath(path) : join(await realpath(dirname(path)), basename(path))
}

/** Replaces a file in one step. Sync the directory afterwards, or a crash may undo it. */
export async function replaceFile(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(from, to)
    } catch (error) {
      // On Windows, a file cannot be replaced while a program such as a virus scanner reads it.
      if (process.platform !== 'win32' || attempt === 10) throw error
      await delay(50)
    }
  }
}

export async function withFile<T>(
  file: string,
  flags: string | number,
  job: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const handle = await open(file, flags, PRIVATE)
  try {
    return await job(handle)
  } finally {
    await handle.close()
  }
}

/** Gives a file, if there is one, another name beside its own. A file with that name is replaced. */
export async function nameAlso(file: string, name: string): Promise<void> {
  if (!(await exists(file))) return
  const next = `${name}.next`
  await rm(next, { force: true })
  // Some file systems have no links.
  await link(file, next).catch(() => copyFile(file, next))
  await replaceFile(next, name)
}

/** Writes a file piece by piece, so that other work can run in between. A regular file is on the disk when this resolves. */
export const writePieces = (file: string, flags: 'w' | 'wx', pieces: Iterable<string | Uint8Array>): Promise<void> =>
  withFile(file, flags, async (handle) => {
    for (const piece of pieces) await handle.writeFile(piece)
    if ((await handle.stat()).isFile()) await syncFile(handle)
  })

export const syncFile = (handle: FileHandle): Promise<void> => synced(fs.fsync, handle)
export const syncContent = (handle: FileHandle): Promise<void> => synced(fs.fdatasync, handle)

/** By the number of the file: a `FileHandle` of Yarn's Plug'n'Play has neither `sync` nor `datasync`. */
const synced = (sync: typeof fs.fsync, { fd }: FileHandle): Promise<void> =>
  new Promise((resolve, reject) => sync(fd, (error) => (error ? reject(error) : resolve())))

/** Writes the names in a directory to the disk. Syncing a file does not do that. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot sync a directory, and does not need to.
  if (process.platform !== 'win32') await withFile(directory, constants.O_RDONLY, syncFile)
}

/** Like `syncDirectory`, for files that are written in the order of the calls. */
export function syncDirectoryNow(directory: string): void {
  if (process.platform !== 'win32') withFileNow(directory, 'r', fs.fsyncSync)
}

function withFileNow(file: string, flags: string, job: (handle: number) => void): void {
  const handle = fs.openSync(file, flags, PRIVATE)
  try {
    job(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** Writes a file in one step, with its content on the disk. Sync the directory afterwards, or a crash may undo it. */
export function writeFileNow(file: string, content: string | Uint8Array): void {
  const next = `${file}.next`
  try {
    withFileNow(next, 'w', (handle) => {
      fs.writeFileSync(handle, content)
      fs.fsyncSync(handle)
    })
    fs.renameSync(next, file)
  } catch (error) {
    try {
      // A full disk needs the space.
      fs.rmSync(next, { force: true })
    } catch {
      // The next try replaces it.
    }
    throw error
  }
}

const BYTES_PER_READ = 1 << 20

/** Writes a part of a file again. A sync alone does nothing if an earlier one failed: the system forgot what to write. */
export async function writeAgain(handle: FileHandle, from: number, to: number): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(BYTES_PER_READ, Math.max(0, to - from)))
  for (let at = from; at < to; ) {
    const { bytesRead } = await handle.read(piece, 0, Math.min(piece.length, to - at), at)
    if (bytesRead === 0) break
    await writeBytes(handle, piece.subarray(0, bytesRead), at)
    at += bytesRead
  }
  await syncFile(handle)
}

export async function writeBytes(handle: FileHandle, bytes: Buffer, start: number): Promise<void> {
  for (let at = 0; at < bytes.length; )
    at += (await handle.write(bytes, at, bytes.length - at, start + at)).bytesWritten
}

/** By its status: Deno's `access` asks for the user of the process, and needs `--allow-sys`. */
export const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  )

export const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  )

async function makeDirectory(directory: string): Promise<void> {
  const outermost = await mkdir(directory, { recursive: true })
  if (outermost === undefined) return
  for (let made = directory; made.length >= outermost.length; made = dirname(made)) await syncDirectory(dirname(made))
}

export interface WatchedFile {
  readonly file: string
  /** As `identityOf` gives it. Undefined while this process itself replaces the file. */
  readonly identity: string | undefined
}

const EVERY_MS = 500

/** Reports once, within half a second, that a program deleted or replaced an open file. Writes into such a file are lost. */
export function watchFiles(
  files: () => readonly (WatchedFile | undefined)[],
  report: (what: string) => void,
): { end(): void } {
  const timer = setInterval(() => {
    const what = files().map(changeOf).find(Boolean)
    if (what === undefined) return
    clearInterval(timer)
    report(what)
  }, EVERY_MS)
  timer.unref()
  return { end: () => clearInterval(timer) }
}

function changeOf(watched: WatchedFile | undefined): string | undefined {
  if (watched?.identity === undefined) return undefined
  const { file, identity } = watched
  try {
    const stats = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
    if (!stats) return `${file} was deleted by a different program`
    return inodeKey(stats) === identity ? undefined : `${file} was replaced by a different program`
  } catch {
    // The system may know next time. Nobody could catch an error of this timer.
    return undefined
  }
}

/** Distinguishes a file from another one that gets its name while the handle is open. */
export const identityOf = async (handle: FileHandle): Promise<string> => inodeKey(await handle.stat({ bigint: true }))
const inodeKey = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string => `${dev}:${ino}`
