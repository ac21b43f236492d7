import { constants } from 'node:fs'
import { access, mkdir, open, realpath, rename } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** Only for the user that runs the process: rows may hold what others should not read. */
export const PRIVATE = 0o600

/** The one path of a file however it is reached, so that its lock is one too. Makes its directory. */
export async function settlePath(file: string): Promise<string> {
  const path = resolve(file)
  await makeDirectory(dirname(path))
  return (await exists(path)) ? realpath(path) : join(await realpath(dirname(path)), basename(path))
}

/** Puts one file in the place of another in one step; it lasts once the directory is synced. */
export async function replaceFile(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(from, to)
    } catch (error) {
      // On Windows whoever looks at a file, such as a virus scanner, keeps it from being replaced for a moment.
      if (process.platform !== 'win32' || attempt === 10) throw error
      await delay(50)
    }
  }
}

/** Makes the names in a directory last: syncing a file does not. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows has no such thing, and needs none.
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
