import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { accountByPublicSecret } from '../../identity/accounts/account.js'
import { clients } from '../../identity/tokens/token.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText } from '../../money/ledger/amount.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { Agent } from '../approvals/approval.js'
import {
  type DelegateRow,
  delegates,
  isDelegateValid,
  type NamedParty,
  type SpendingAuthority,
  type SpendingPeriod,
} from './delegate.js'
import { personaOf } from './persona.js'

/** Who spends: the principal of a call. */
export type Party =
  | { readonly kind: 'account'; readonly id: number }
  | { readonly kind: 'user'; readonly id: number; readonly owner: Owner }
  /** An app, and the user that it acts for. */
  | (Agent & { readonly kind: 'agent'; readonly owner: Owner })
  | { readonly kind: 'embed'; readonly account_id: number }

/** The owner of what a party buys. Pages and embeds buy for their account. */
export const ownerOfParty = (party: Party): Owner =>
  'owner' in party ? party.owner : `account:${party.kind === 'embed' ? party.account_id : party.id}`

/** The `actor` of an event for a party. */
export const actorOf = (party: Party): string => (party.kind === 'agent' ? party.client_id : ownerOfParty(party))

/** What a delegate's holder spent in one period. The id is the delegate's hash and the period's start, or `all`. */
export interface DelegateSpendingRow {
  readonly id: string
  /** Smallest units. */
  readonly spent: string
  /** When the period ends. Absent in older rows, and if the limit has no period. */
  readonly period_ends_at?: number
}

export const delegateSpendings = collection<DelegateSpendingRow>()(
  'delegate_spendings',
  { byPeriodEnd: { fields: ['period_ends_at'] } },
  {
    secrets: ['id'],
    growth: { by: 'whoever pays by a delegate', bound: 'One for each delegate, digital quantity and day or month.' },
    retention: {
      after: 'its day or month ends',
      keepMs: 30 * DAY,
      index: 'byPeriodEnd',
      unless: 'the limit has no period',
    },
  },
)

type AuthorityClaim = { readonly delegate: string; readonly party: Party; readonly at: number }

export interface GrantedAuthority extends Pick<AuthorityClaim, 'delegate' | 'at'> {
  readonly spend: SpendingAuthority
  /** The persona's twin, which pays. */
  readonly twin: TwinRow
}

/** What a payment costs: the amount and digital quantity that move, and that count against the limit. */
export interface SpentAmount {
  readonly dq: string
  /** Smallest units. 0 spends nothing, but still needs a valid authority. */
  readonly amount: bigint
}

/** Returns a delegate's spending authority, if the party may use it now. Throws `delegate_refused`. */
export async function grantedAuthority(tx: Reader, { delegate, party, at }: AuthorityClaim): Promise<GrantedAuthority> {
  const row = await tx.get(delegates, delegate)
  const { spend = null } = row ?? {}
  if (!row || !spend || !(await isParty(tx, row, spend.party, party)))
    throw delegateRefused('The delegate is unknown, or does not let you spend.')
  if (!(await isDelegateValid(tx, row))) throw delegateRefused('The delegate was revoked.')
  if (spend.expires_at !== null && spend.expires_at <= at) throw delegateRefused('The spending authority has expired.')
  const { twin_id } = await personaOf(tx, row.persona)
  return { delegate: row.id, spend, twin: await getExisting(tx, twins, twin_id), at }
}

/** Counts an amount against a spending authority, in the transaction that pays it. Throws `delegate_refused`. */
export async function countSpending(tx: Writer, granted: GrantedAuthority, { dq, amount }: SpentAmount) {
  const { spend } = granted
  if (spend.dq !== dq) throw delegateRefused('The spending authority is for a different digital quantity.')
  if (amount === 0n) return
  const counter = await counterAt(tx, granted)
  const left = BigInt(spend.limit) - BigInt(counter.spent)
  if (amount > left) {
    const shown = moneyText(left, await quantityOf(tx, spend.dq))
    const until = spend.period === null ? '' : ` for this ${spend.period}`
    throw delegateRefused(`The spending authority has ${shown} left${until}.`)
  }
  putSpent(tx, counter, BigInt(counter.spent) + amount)
}

const delegateRefused = (detail: string) => problem('delegate_refused', { detail })

async function isParty(tx: Reader, row: DelegateRow, named: NamedParty, party: Party): Promise<boolean> {
  if ('public_secret' in named)
    return party.kind === 'embed' && (await accountByPublicSecret(tx, named.public_secret))?.id === party.account_id
  if (party.kind === 'embed') return false
  // Anybody can connect an app and become its user. Only the persona's owner and the twin's owner count.
  if (party.kind === 'agent') return party.client_id === named.client_id && isSide(tx, row, party.owner)
  const client = await tx.get(clients, named.client_id)
  return client?.deleted_at === null && client.owner_kind === party.kind && client.owner_id === party.id
}

const isSide = async (tx: Reader, { persona_owner, twin_id }: DelegateRow, owner: Owner): Promise<boolean> =>
  persona_owner === owner || (await tx.get(twins, twin_id))?.owner === owner

async function counterAt(tx: Reader, { delegate, spend: { period }, at }: GrantedAuthority) {
  const id = counterOf(delegate, period, at)
  const period_ends_at = periodEnd(period, at)
  return (await tx.get(delegateSpendings, id)) ?? { id, spent: '0', ...(period_ends_at && { period_ends_at }) }
}

/** Throws an Error for a counter below zero: more was given back than counted, and more could be spent than the limit. */
function putSpent(tx: Writer, counter: DelegateSpendingRow, spent: bigint): void {
  if (spent < 0n) throw new Error(`the delegate spending ${counter.id} would be ${spent}`)
  tx.put(delegateSpendings, { ...counter, spent: String(spent) })
}

function counterOf(delegate: string, period: SpendingPeriod | null, at: number): string {
  if (period === null) return `${delegate}:all`
  return `${delegate}:${new Date(at).toISOString().slice(0, period === 'day' ? 10 : 7)}`
}

function periodEnd(period: SpendingPeriod | null, at: number): number | undefined {
  if (period === null) return undefined
  const time = new Date(at)
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()]
  return period === 'day' ? Date.UTC(year, month, time.getUTCDate() + 1) : Date.UTC(year, month + 1)
}

/** Restores an amount that was counted `at` a time and not spent, for the period of that time. Throws an Error if it was not counted. */
export async function restoreAuthority(
  tx: Writer,
  { delegate, dq, amount, at }: { delegate: string; at: number } & SpentAmount,
): Promise<void> {
  const { spend } = await getExisting(tx, delegates, delegate)
  if (spend?.dq !== dq) throw new Error(`the delegate ${delegate} did not spend this digital quantity`)
  if (amount === 0n) return
  const counter = await tx.get(delegateSpendings, counterOf(delegate, spend.period, at))
  if (counter) putSpent(tx, counter, BigInt(counter.spent) - amount)
  // The sweep removes the counter of a day or month that ended long ago.
  else if (spend.period === null) throw new Error(`the delegate ${delegate} has spent nothing`)
}
