import { APPROVAL_STORED_FOR } from '../../../consent/approvals/approval.js'
import { collection } from '../../../storage/storage.js'
import type { Made } from './kind.js'

/** Progress of an approved change that takes several transactions. The id is the approval's. */
export interface AccountChangeRow {
  readonly id: string
  readonly status: 'making' | 'made' | 'broken_off'
  readonly steps: number
  readonly made: Made
  /** Token of the run that applies it. */
  readonly claim: string
  readonly last_step_at: number
}

export const accountChanges = collection<AccountChangeRow>()(
  'account_changes',
  { byLastStep: { fields: ['last_step_at'] } },
  {
    refs: { id: 'approvals' },
    growth: { by: 'an agent, by applyAccountChange', bound: 'One for each approval that its user gave.' },
    retention: { after: 'its last step', keepMs: APPROVAL_STORED_FOR, index: 'byLastStep' },
  },
)
