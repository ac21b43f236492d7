import { OutcomeUnknown, StorageFull, StorageUnavailable } from '../../../src/storage/storage.js'

/**
 * Turns an error of IndexedDB into one of the storage, and returns other errors unchanged. `isCommitted` says that the
 * transaction was committing, so it is unknown whether its writes are stored.
 */
export function failure(cause: unknown, { isCommitted = false } = {}): unknown {
  if (!(cause instanceof DOMException)) return cause
  switch (cause.name) {
    case 'QuotaExceededError':
      return new StorageFull(
        'The browser gives this site no more space, so nothing of this write was stored. Free space on the device, or export the state and delete what you do not need. Then try again.',
        { cause },
      )
    case 'NotFoundError':
      return new TypeError('The database has no such collection: name it among `collections`.', { cause })
    case 'DataCloneError':
      return new TypeError(`A row is not plain JSON: ${cause.message}`, { cause })
    default:
      if (isCommitted)
        return new OutcomeUnknown(
          `IndexedDB failed while it committed (${cause.name}: ${cause.message}). Check whether the write is there before you try again.`,
          { cause },
        )
      return new StorageUnavailable(
        `IndexedDB failed (${cause.name}: ${cause.message}), and nothing was changed. Try again.`,
        { cause },
      )
  }
}
