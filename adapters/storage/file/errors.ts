import { diskReasons } from '../../../src/storage/unavailable.js'
import { hasCode } from '../../../src/storage/unknown.js'

/** A file of the storage is unreadable or damaged. Nothing was changed. The message says what to do. */
export class StorageDamaged extends Error {
  override name = 'StorageDamaged'
  constructor(
    readonly file: string,
    readonly line: number | undefined,
    /** What is wrong, as the end of a sentence. */
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(
      `${file}${line === undefined ? '' : `, line ${line}`}: ${reason}. Nothing was changed. ${adviceOn(options?.cause)}`,
      options,
    )
  }
}

/** Gets each damage. Reading goes on after it, unless this throws. */
export type OnDamage = (damage: StorageDamaged) => void

export const refuseDamage: OnDamage = (damage) => {
  throw damage
}

/** A file that may not be read is whole. */
function adviceOn(cause: unknown): string {
  if (hasCode(cause, 'EACCES') || hasCode(cause, 'EPERM')) return 'Let the user who runs farthing read it'
  if (hasCode(cause, 'EMFILE') || hasCode(cause, 'ENFILE'))
    return 'Too many files are open: close some, or raise the limit with `ulimit -n`'
  return 'Restore a backup, or write all that can be read into a new file with `farthing repair`'
}

/** A different process, or a different part of this one, has the storage open. */
export class StorageLocked extends Error {
  override name = 'StorageLocked'
  constructor(
    readonly lock: string,
    readonly holder: { readonly pid: number; readonly host: string | null } | undefined,
  ) {
    const who = holder
      ? `process ${holder.pid} on ${holder.host ?? 'an unknown host'}`
      : 'a process that did not say who it is'
    super(`The storage is in use by ${who}. Stop that first; if it is surely gone, remove ${lock}`)
  }
}

/** Whether the system refused a call, such as with ENOSPC. */
export const isSystemError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code)

/** Why the disk does not take a write, as any caller may read it. */
export function reasonOf(cause: unknown): string {
  const [, reason] = Object.entries(diskReasons).find(([code]) => hasCode(cause, code)) ?? []
  return reason ?? 'the disk refuses writes'
}
