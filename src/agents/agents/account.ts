import { grantedAccount } from '../../consent/oidc/connection.js'
import type { Reader } from '../../storage/storage.js'

/** Returns the business account that the user granted the agent. Micro Payment Service Interface, section 4.7. */
export const agentAccount = (tx: Reader, agent: { user_id: number; account_id: number | null }) =>
  grantedAccount(tx, agent)
