import { auditStorage } from '../../../src/sandbox/controls/snapshot.js'
import type { Storage } from '../../../src/storage/storage.js'
import { hold } from './broken.js'

/** The audit finds nothing. */
export async function checkLedger(storage: Storage): Promise<void> {
  const { broken } = await auditStorage(storage)
  hold(broken === null, 'The ledger is sound', broken)
}
