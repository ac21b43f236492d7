import { type BigIntStats, statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'

/** A file that this process has open. */
export interface WatchedFile {
  readonly file: string
  /** As `identityOf` gives it. Undefined while this process itself replaces the file. */
  readonly identity: string | undefined
}

const EVERY_MS = 500

/**
 * Looks twice a second whether a different program deleted or replaced open files, and reports what happened, once. A
 * process goes on writing into a deleted file, and what it writes is lost.
 */
export function watchFiles(files: () => readonly WatchedFile[], report: (what: string) => void): { end(): void } {
  const timer = setInterval(() => {
    const what = files()
      .map(changeOf)
      .find((change) => change !== undefined)
    if (what === undefined) return
    clearInterval(timer)
    report(what)
  }, EVERY_MS)
  timer.unref()
  return { end: () => clearInterval(timer) }
}

function changeOf({ file, identity }: WatchedFile): string | undefined {
  if (identity === undefined) return undefined
  const stats = statNow(file)
  if (stats === 'unknown') return undefined
  if (!stats) return `${file} was deleted by a different program`
  return inodeKey(stats) === identity ? undefined : `${file} was replaced by a different program`
}

/** Undefined if there is no such file. */
function statNow(file: string): BigIntStats | undefined | 'unknown' {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    // The system may know next time. Nobody could catch an error of this timer.
    return 'unknown'
  }
}

/** Distinguishes a file from another one that gets its name while the handle is open. */
export const identityOf = async (handle: FileHandle): Promise<string> => inodeKey(await handle.stat({ bigint: true }))

const inodeKey = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string => `${dev}:${ino}`
