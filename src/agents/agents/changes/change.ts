import { problem } from '../../../base/problem.js'
import { required } from '../../../base/required.js'
import type { Agent, ApprovalTerms } from '../../../consent/approvals/approval.js'
import type { ServiceContext } from '../../../http/context.js'
import { fieldProblem } from '../../../http/fields/field.js'
import { type AccountRow, accountOf, sellerName } from '../../../identity/accounts/account.js'
import type { Writer } from '../../../storage/storage.js'
import { Transaction } from '../../../storage/transaction.js'
import { renameWalletKind, updateAccountKind } from './account-changes.js'
import { createItemKind, updateItemKind } from './item-changes.js'
import type { AccountChange, ChangeKind, Made, Work } from './kind.js'

/** The changes that an agent may propose. */
const kinds: ReadonlyMap<string, ChangeKind<AccountChange>> = new Map<string, ChangeKind<AccountChange>>([
  ['update_item', updateItemKind],
  ['create_item', createItemKind],
  ['rename_wallet', renameWalletKind],
  ['update_account', updateAccountKind],
])

const changeKinds = [...kinds.keys()]

export const kindOf = ({ kind }: Pick<AccountChange, 'kind'>): ChangeKind<AccountChange> =>
  required(kinds.get(kind), `the kind of change ${kind}`)

/** Checks the fields of a change. Throws `field_invalid` with the field, and `card_data_refused`. */
function changeOf(sent: Readonly<Record<string, unknown>>): AccountChange {
  const kind = sent.kind
  if (typeof kind !== 'string' || !kinds.has(kind))
    throw problem('field_invalid', {
      detail: `"change.kind" must be one of ${changeKinds.join(', ')}.`,
      fields: { field: 'change.kind' },
    })
  const { schema, check } = kindOf({ kind })
  const checked = schema.safeParse(sent)
  if (!checked.success) throw fieldProblem(schema, checked.error.issues, sent, 'change')
  check?.(checked.data)
  return checked.data
}

/**
 * Returns what the user is asked to approve. Rehearses the change first. Throws `account_not_granted`, `field_invalid`,
 * `card_data_refused`, and what the steps throw.
 */
export async function accountChangeTerms(
  tx: Writer,
  { account_id: accountId, client_id: actor }: Pick<Agent, 'account_id' | 'client_id'>,
  sent: Readonly<Record<string, unknown>>,
  service: ServiceContext,
): Promise<ApprovalTerms> {
  if (accountId === null) throw problem('account_not_granted')
  const asked = changeOf(sent)
  const kind = kindOf(asked)
  const change = (await kind.settle?.(tx, asked)) ?? asked
  const { about, now, summary } = await kind.view(tx, { accountId, change })
  await rehearseChange(tx, kind.steps, { accountId, change, made: {}, actor, at: service.clock.now() }, service)
  const account = await accountOf(tx, accountId)
  return { kind: 'account_change', detail: { account: accountFacts(account), ...about, change }, now, summary }
}

const accountFacts = (account: AccountRow) => ({ id: account.id, name: sellerName(account) })

/** Runs steps without storing anything. Throws what they throw. */
export async function rehearseChange(
  tx: Writer,
  steps: ChangeKind<AccountChange>['steps'],
  work: Work<AccountChange>,
  service: ServiceContext,
): Promise<void> {
  await makeSteps(new Transaction(tx), steps, work, service)
}

/** Runs steps, and returns the ids of everything created so far. */
export async function makeSteps(
  tx: Writer,
  steps: ChangeKind<AccountChange>['steps'],
  work: Work<AccountChange>,
  service: ServiceContext,
): Promise<Made> {
  let { made } = work
  for (const step of steps) made = { ...made, ...(await step.make(tx, { ...work, made }, service)) }
  return made
}
