import { hasCode } from '../src/storage/unknown.js'

/** What a command was given cannot be used. The message is one line that says what to do; the exit code is 2. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** Refuses a file that the system does not let be read or written; anything else is thrown as it is. */
export function refuseFile(action: string, file: string, error: unknown): never {
  const [, reason] = Object.entries(reasons).find(([code]) => hasCode(error, code)) ?? []
  if (reason === undefined) throw error
  throw new Refusal(`cannot ${action} ${file}: ${reason}`, { cause: error })
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file or directory',
  EACCES: 'you have no permission for that',
  EPERM: 'you have no permission for that',
  EROFS: 'it is on a read-only file system',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is not a directory',
  EEXIST: 'a part of its path is not a directory',
  ENOSPC: 'the disk is full',
  ELOOP: 'its path leads in a circle',
  ENAMETOOLONG: 'its name is too long',
}
