import { grantedAccount } from '../../consent/oidc/connection.js'
import type { Reader } from '../../storage/storage.js'

/** The business account that an agent's user granted it (interface.md 4.7 rule 1). */
export const agentAccount = (tx: Reader, agent: { user_id: number; account_id: number | null }) =>
  grantedAccount(tx, agent)
