import { constants } from 'node:fs'
import { access, mkdir, open, realpath, rename } from 'node:fs/promises'
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

/** Writes the names in a directory to the disk. Syncing a file does not do that. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot sync a directory, and does not need to.
  if (process.platform === 'win32') return
  const handle = await open(directory, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

async function makeDirectory(directory: string): Promise<void> {
  const outermost = await mkdir(directory, { recursive: true })
  if (outermost === undefined) return
  for (let made = directory; made.length >= outermost.length; made = dirname(made)) await syncDirectory(dirname(made))
}
