import { type Problem, problem } from '../base/problem.js'
import type { ProblemFields } from '../base/problem-fields.js'
import { StorageFull, type StorageUnavailable } from './storage.js'

const RETRY_S = '5'

/** The problem `storage_full`, or `storage_unavailable` with the reason if callers may read it. */
export function storageUnavailable(cause: StorageUnavailable, fields: ProblemFields = {}): Problem {
  if (cause instanceof StorageFull) return problem('storage_full', { detail: cause.message, fields, cause })
  const detail = cause.reason === undefined ? undefined : `Reason: ${cause.reason}.`
  return problem('storage_unavailable', {
    ...(detail !== undefined && { detail }),
    fields,
    headers: { 'retry-after': RETRY_S },
    cause,
  })
}

/** Why a disk does not take a write, as any caller may read it, by the code of its error. */
export const diskReasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than this system allows',
  EIO: 'the disk reports an error',
  EROFS: 'the file system is read-only',
  EACCES: 'the process may not write the files of the storage',
  EPERM: 'the process may not write the files of the storage',
  EMFILE: 'the process has too many open files',
  ENFILE: 'the system has too many open files',
}
