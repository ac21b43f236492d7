import { APPROVAL_STORED_FOR } from '../../../consent/approvals/approval.js'
import { countedDaily } from '../../../storage/growth.js'
import { DAY } from '../../../storage/retention.js'
import { collection } from '../../../storage/storage.js'
import type { Made } from './change.js'

/** A link at which a user chooses the business account of a connection, once. */
export interface AccountChoiceRow {
  readonly id: number
  readonly token_digest: string
  readonly connection_id: number
  readonly user_id: number
  readonly client_id: string
  readonly expires_at: number
  readonly chosen_at: number | null
  readonly account_id: number | null
}

export const accountChoices = collection<AccountChoiceRow>()(
  'account_choices',
  { byToken: { fields: ['token_digest'], unique: true }, byExpiry: { fields: ['expires_at'] } },
  {
    refs: { account_id: 'accounts', client_id: 'oidc_clients', connection_id: 'oidc_connections', user_id: 'users' },
    secrets: ['token_digest'],
    growth: countedDaily('an agent, by createAccountChoice'),
    retention: { after: 'the link expires', keepMs: DAY, index: 'byExpiry' },
  },
)

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
