import { problem } from '../../base/problem.js'
import type { TwinRow } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { currentGrant } from '../oidc/agent.js'
import { findAgentTwin } from '../oidc/connection.js'
import { type Agent, type ApprovalTerms, spendApproval } from './approval.js'
import { thresholdOf } from './settings.js'

/** A payment that an agent wants to make. */
export interface AgentPayment {
  /** Exactly what the user approves. */
  readonly terms: ApprovalTerms
  /** The body for `POST /v4/agent/approvals` that requests this approval. */
  readonly wish: Readonly<Record<string, unknown>>
  /** Smallest units by digital quantity. */
  readonly sums: ReadonlyMap<string, bigint>
  /** The twin that the agent named as payer. */
  readonly hostname?: string | undefined
  /** The approval to spend. */
  readonly approvalId: string | undefined
  readonly at: number
}

/**
 * Spends the approval of a payment, or checks that it is within the user's threshold. Returns the agent twin, which pays.
 * Throws `token_invalid`, `approval_required` with the body that requests the approval, `insufficient_funds` (no twin),
 * `not_owner`, and everything that `spendApproval` throws.
 */
export async function permittedTwin(tx: Writer, agent: Agent, payment: AgentPayment): Promise<TwinRow> {
  const { terms, wish, approvalId: id, at } = payment
  if (id !== undefined) await spendApproval(tx, agent, { id, terms, at })
  else if (!(await isWithinThreshold(tx, agent, payment)))
    throw problem('approval_required', { fields: { approval: wish } })
  const twin = await agentTwinOf(tx, agent)
  if (payment.hostname !== undefined && payment.hostname !== twin.hostname)
    throw problem('not_owner', { detail: `An agent can only pay from the agent twin, ${twin.hostname}.` })
  return twin
}

/** The twin that a user's agents pay from. Throws `insufficient_funds` if there is none. */
export async function agentTwinOf(tx: Reader, { user_id }: Pick<Agent, 'user_id'>): Promise<TwinRow> {
  const twin = await findAgentTwin(tx, user_id)
  if (!twin) throw problem('insufficient_funds', { detail: 'The user has no agent twin.' })
  return twin
}

async function isWithinThreshold(tx: Reader, agent: Agent, { sums }: Pick<AgentPayment, 'sums'>): Promise<boolean> {
  await currentGrant(tx, agent)
  for (const [dq, sum] of sums) if (sum > (await thresholdOf(tx, agent.user_id, dq))) return false
  return true
}
