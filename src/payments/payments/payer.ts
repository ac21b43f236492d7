import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { type Agent, type ApprovalTerms, spendApproval } from '../../consent/approvals/approval.js'
import { thresholdOf } from '../../consent/approvals/settings.js'
import { findAgentTwin } from '../../consent/oidc/connection.js'
import { currentGrant } from '../../consent/oidc/token.js'
import { countSpending, grantedAuthority, ownerOfParty, type Party } from '../../consent/personas/spending.js'
import { payingTwin, type TwinRow } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'

/** A caller that pays, and what it sent about who pays. */
export interface PayingCaller {
  readonly party: Party
  /** Hash of a delegate that lets the party spend. Its persona's twin pays. */
  readonly delegate?: string | undefined
  /** One of the payer's twins. Default: the primary one, or an agent's own. */
  readonly hostname?: string | undefined
  /** The approval of an agent's user. */
  readonly approvalId?: string | undefined
}

/** Smallest units by digital quantity. */
export type Sums = ReadonlyMap<string, bigint>

export interface Cost {
  readonly sums: Sums
  /** What an agent's user approves. Absent: agents need a delegate. */
  readonly approval?: () => AgentApproval | Promise<AgentApproval>
}

interface AgentApproval {
  /** Exactly what the user approves. */
  readonly terms: ApprovalTerms
  /** The body for `POST /v4/agent/approvals` that requests this approval. */
  readonly wish: Readonly<Record<string, unknown>>
}

/** Checks that a caller can pay at all: it is a user, or an agent if an approval can pay, or has a delegate. Throws `delegate_required`. */
export function checkPayer({ party, delegate }: PayingCaller, takesApproval = true): void {
  if (delegate !== undefined || party.kind === 'user' || (takesApproval && party.kind === 'agent')) return
  throw problem('delegate_required')
}

/**
 * Finds the twin that pays and spends what allows it: a spending authority, or the approval of an agent's user. Users pay
 * from their own twins. `costOf` gets the twin, and the digital quantity in which it pays if the order names none.
 * Throws `delegate_required`, `delegate_refused`, `approval_required` with the body that requests the approval,
 * `token_invalid`, `insufficient_funds` (no twin), `not_found`, `not_owner`, and what `spendApproval` throws.
 */
export async function spendPayer<C extends Cost>(
  tx: Writer,
  caller: PayingCaller,
  at: number,
  costOf: (twin: TwinRow, dq: string) => C | Promise<C>,
): Promise<{ twin: TwinRow; cost: C }> {
  const { party, delegate, hostname } = caller
  if (delegate !== undefined) {
    const granted = await grantedAuthority(tx, { delegate, party, at })
    const { hostname: own } = granted.twin
    if (hostname !== undefined && hostname !== own)
      throw problem('not_owner', { detail: `A delegate pays only from the twin of its persona, ${own}.` })
    const cost = await costOf(granted.twin, granted.spend.dq)
    for (const [dq, amount] of cost.sums) await countSpending(tx, granted, { dq, amount })
    return { twin: granted.twin, cost }
  }
  if (party.kind === 'user') {
    const twin = await payingTwin(tx, party.owner, hostname)
    return { twin, cost: await costOf(twin, twin.dq) }
  }
  if (party.kind !== 'agent') throw problem('delegate_required')
  const twin = await agentTwinOf(tx, party)
  const cost = await costOf(twin, twin.dq)
  await spendForAgent(tx, party, cost, { id: caller.approvalId, at })
  if (hostname !== undefined && hostname !== twin.hostname)
    throw problem('not_owner', { detail: `An agent can only pay from the agent twin, ${twin.hostname}.` })
  return { twin, cost }
}

/** Spends the approval, or checks that the sums are within the threshold of the agent's user. */
async function spendForAgent(
  tx: Writer,
  agent: Agent,
  { sums, approval }: Cost,
  { id, at }: { id: string | undefined; at: number },
): Promise<void> {
  if (!approval) throw problem('delegate_required')
  const { terms, wish } = await approval()
  if (id !== undefined) return spendApproval(tx, agent, { id, terms, at })
  await currentGrant(tx, agent)
  for (const [dq, sum] of sums)
    if (sum > (await thresholdOf(tx, agent.user_id, dq)))
      throw problem('approval_required', { fields: { approval: wish } })
}

/** The twin that a user's agents pay from. Throws `token_invalid`, `insufficient_funds` if there is none. */
export async function agentTwinOf(tx: Reader, agent: Agent): Promise<TwinRow> {
  const twin = await findAgentTwin(tx, agent.user_id)
  if (twin) return twin
  // A user who first proves their email ends their connections and this twin.
  await currentGrant(tx, agent)
  throw problem('insufficient_funds', { detail: 'The user has no agent twin.' })
}

/** The owner whose limits count what a payment causes: for an embed, whose secret is public, whoever granted the delegate. */
export const bearerOf = (party: Party, payer: TwinRow): Owner =>
  party.kind === 'embed' ? payer.owner : ownerOfParty(party)
