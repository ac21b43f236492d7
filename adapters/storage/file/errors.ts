import { diskReasons } from '../../../src/storage/disk-reasons.js'
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
    super(`${file}${line === undefined ? '' : `, line ${line}`}: ${reason}. ${NOTHING_CHANGED}`, options)
  }
}

/** Gets each damage. Reading goes on after it, unless this throws. */
export type OnDamage = (damage: StorageDamaged) => void

export const refuseDamage: OnDamage = (damage) => {
  throw damage
}

const NOTHING_CHANGED =
  'Nothing was changed. Restore a backup, or write all that can be read into a new file with `farthing repair`'

/** A different process, or a different part of this one, has the storage open. */
export class StorageLocked extends Error {
  override name = 'StorageLocked'
  constructor(
    readonly lock: string,
    readonly holder: { readonly pid: number; readonly host: string } | undefined,
  ) {
    const who = holder ? `process ${holder.pid} on ${holder.host}` : 'a process that did not say who it is'
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
