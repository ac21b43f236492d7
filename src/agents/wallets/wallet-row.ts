import type { Party } from '../../consent/personas/spending.js'
import { collection } from '../../storage/storage.js'
import type { Address } from './evm.js'

/**
 * An address whose signatures pay from a twin. Whoever has its key can spend all that the twin holds, unless `party`
 * says as whom they pay.
 */
export interface WalletRow {
  readonly id: Address
  readonly twin_id: number
  readonly linked_at: number
  /** An app, whose payments need approvals like its other calls, or the holder of the delegate. Absent: whoever has the key. */
  readonly party?: Party
  /** Hash of the delegate whose spending authority its payments spend. Absent: none. */
  readonly delegate?: string
}

export const wallets = collection<WalletRow>()(
  'wallets',
  { byTwin: { fields: ['twin_id'] } },
  {
    refs: { delegate: 'delegates', twin_id: 'twins' },
    secrets: ['delegate'],
    growth: { by: 'the operator, by a control', bound: 'One for each key that the operator links.' },
    retention: { forever: 'Who has its key pays from the twin.' },
  },
)
