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
