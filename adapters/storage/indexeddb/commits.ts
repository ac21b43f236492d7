import type { IDBPTransaction } from 'idb'
import { COMMITS_KEY, SCHEMA_STORE } from './schema.js'

/** Reads how many times the rows of a database have changed. */
export async function readCommits(tx: IDBPTransaction<unknown, string[], 'readonly'>): Promise<number> {
  return Number((await tx.objectStore(SCHEMA_STORE).get(COMMITS_KEY)) ?? 0)
}

/** Counts one more commit. It makes a plain request without a promise: an error in it aborts the transaction. */
export function countCommit(store: IDBObjectStore): void {
  const request = store.get(COMMITS_KEY)
  request.onsuccess = () => store.put(Number(request.result ?? 0) + 1, COMMITS_KEY)
}
