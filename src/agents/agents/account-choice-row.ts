import { countedDaily } from '../../storage/growth.js'
import { DAY } from '../../storage/retention.js'
import { collection } from '../../storage/storage.js'

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
