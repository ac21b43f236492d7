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
