import { base64url } from '../../base/encoding.js'
import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { Agent } from '../../consent/approvals/approval.js'
import { connectApp, findConnection, grantableAccounts, grantedAccount } from '../../consent/oidc/connection.js'
import type { ServiceContext } from '../../http/context.js'
import type { AccountRow } from '../../identity/accounts/account.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type AccountChoiceRow, accountChoices } from './account-choice-row.js'

const CHOICE_LINK_MS = 15 * 60_000

/** Creates a link at which the user chooses a business account. Throws `not_choosable`. */
export async function offerAccountChoice(
  tx: Writer,
  { user_id, client_id, connection_id }: Agent,
  { random, clock, baseUrl }: Pick<ServiceContext, 'random' | 'clock' | 'baseUrl'>,
): Promise<{ url: string; expires_at: number }> {
  if ((await grantableAccounts(tx, user_id)).length === 0) throw problem('not_choosable')
  const at = clock.now()
  const token = base64url(random.bytes(32))
  const expires_at = at + CHOICE_LINK_MS
  const row: AccountChoiceRow = {
    id: await tx.nextId('account_choices'),
    token_digest: digest(token),
    ...{ connection_id, user_id, client_id, expires_at },
    chosen_at: null,
    account_id: null,
  }
  tx.put(accountChoices, row)
  return { url: `${baseUrl}/agents/account-choice/${token}`, expires_at: seconds(expires_at) }
}

/** Returns the choice of a link. Throws `not_found`, and `link_expired`, also if the user disconnected the app. */
export async function choiceByToken(tx: Reader, token: string, at: number): Promise<AccountChoiceRow> {
  const [row] = await tx.find(accountChoices, { index: 'byToken', prefix: [digest(token)], limit: 1 })
  if (!row) throw problem('not_found')
  if (!isCurrent(row.expires_at, CHOICE_LINK_MS, at) || !(await findConnection(tx, row.connection_id)))
    throw problem('link_expired')
  return row
}

export interface NamedAccount {
  readonly id: number
  readonly name: string
}

const named = ({ id, name, business_name }: AccountRow): NamedAccount => ({
  id,
  name: business_name ?? name ?? `Account ${id}`,
})

export const choosableAccounts = async (tx: Reader, userId: number): Promise<NamedAccount[]> =>
  (await grantableAccounts(tx, userId)).map(named)

/** Grants the chosen account, or none. The link is used up. */
export async function choose(
  tx: Writer,
  row: AccountChoiceRow,
  accountId: number | null,
  service: ServiceContext,
): Promise<void> {
  const at = service.clock.now()
  const { user_id: userId, client_id: clientId } = row
  await connectApp(tx, { userId, clientId, accountId, scopes: [], at }, service)
  tx.put(accountChoices, { ...row, chosen_at: at, account_id: accountId })
}

/** Returns the business account that the user granted the agent. Micro Payment Service Interface, section 4.7. */
export const agentAccount = (tx: Reader, agent: { user_id: number; account_id: number | null }) =>
  grantedAccount(tx, agent)
