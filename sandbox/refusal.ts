import { StorageUnavailable } from '../src/storage/storage.js'
import { diskReasons } from '../src/storage/unavailable.js'
import { hasCode } from '../src/storage/unknown.js'

/** A command cannot use what it was given. The message is one line that says what to do. The exit code is 2. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** Throws `Refusal` if the system does not let farthing read or write a file, and any other error as it is. */
export function refuseFile(action: string, file: string, error: unknown): never {
  const cause = error instanceof StorageUnavailable ? error.cause : error
  const [, reason] = Object.entries(reasons).find(([code]) => hasCode(cause, code)) ?? []
  if (reason === undefined) throw error
  throw new Refusal(`cannot ${action} ${file}: ${reason}`, { cause: error })
}

const reasons: Record<string, string> = {
  ...diskReasons,
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a directory',
  ENOTDIR: 'part of its path is not a directory',
  EEXIST: 'part of its path is not a directory',
  ELOOP: 'its symbolic links form a circle',
  ENAMETOOLONG: 'its name is too long',
}
