import { StorageFull, StorageUnavailable } from '../../../../src/storage/storage.js'
import { messageOf } from '../../../../src/storage/unknown.js'
import { ConnectionLost } from './session.js'

/** The code of an error of PostgreSQL, of its driver or of the system. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** PostgreSQL stops or starts, has no connection left, or became a copy of another server, which takes no writes. */
const UNREACHABLE = /^(08|57P|25P03$|25006$|53300$)/
/** The driver, then the system. */
const UNCONNECTED = /^(CONNECT|E(CONN|HOST|NET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|NOENT))/

/** Whether another connection may succeed later. Nothing says what became of the statements that were under way. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ConnectionLost || UNREACHABLE.test(codeOf(error)) || UNCONNECTED.test(codeOf(error))

/** Whether the database undid a transaction because of another one, so that it should run again. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error))

/** The database refuses what one write stores. */
export const REFUSED = 'the database refuses the write'

/** An error of the storage for one of the database, whose transaction was undone. Others stay as they are. */
export function failureOf(cause: unknown): unknown {
  const code = codeOf(cause)
  const message = messageOf(cause)
  if (isUnreachable(cause) || isConflict(cause))
    return new StorageUnavailable(`The database cannot be reached (${message}). Nothing of this was stored.`, {
      cause,
      reason: 'the database cannot be reached',
    })
  if (code === '53100')
    return new StorageFull('The disk of the database is full, and nothing of this write was stored.', { cause })
  if (!/^[0-9A-Z]{5}$/.test(code)) return cause
  return new StorageUnavailable(`The database refused a statement (${code}: ${message}). Nothing of this was stored.`, {
    cause,
    reason: REFUSED,
  })
}
