import { type Audit, audit } from '../../../src/money/ledger/audit.js'
import type { AuditedQuantity } from '../../../src/money/ledger/audit-rules.js'
import type { Collection, Reader, Row, Storage } from '../../../src/storage/storage.js'

/** Two digital quantities, whose twins 1 and 2 issue them. */
export const quantities: readonly AuditedQuantity[] = [
  { dq: 'a', decimals: 3, issuerTwinId: 1 },
  { dq: 'b', decimals: 0, issuerTwinId: 2 },
]

/** The audit of a storage that has these quantities. */
export const auditOf = (storage: Pick<Storage, 'read'>): Promise<Audit> =>
  audit({ read: (body) => storage.read(body), quantities: async () => quantities })

/** Every row of a collection, in the order of their ids. */
export const all = <R extends Row>(tx: Reader, from: Collection<R>): Promise<R[]> =>
  tx.find(from, { index: 'id', prefix: [], limit: 1_000_000 })
