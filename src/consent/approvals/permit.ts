import { problem } from '../../base/problem.js'
import type { TwinRow } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { currentGrant } from '../oidc/agent.js'
import { findAgentTwin } from '../oidc/connection.js'
import { type Agent, type ApprovalTerms, spendApproval } from './approval.js'
import { thresholdOf } from './settings.js'

/** A payment that an agent asks for. */
export interface AgentPayment {
  /** Exactly what it pays for, as its user is asked to approve it. */
  readonly terms: ApprovalTerms
  /** What to ask approval for: the body of `POST /v4/agent/approvals`. */
  readonly wish: Readonly<Record<string, unknown>>
  /** Smallest units by digital quantity. */
  readonly sums: ReadonlyMap<string, bigint>
  /** Of the twin that was named to pay it. */
  readonly hostname?: string | undefined
  /** Of the approval that is to be spent for it. */
  readonly approvalId: string | undefined
  readonly at: number
}

/**
 * The agent twin, for a payment that the user approved, which is spent here, or that needs no approval: one within the user's threshold,
 * or of nothing. Throws `token_invalid`, `approval_required`, which says what to ask for, `insufficient_funds` (no twin), `not_owner` and what `spendApproval` throws.
 */
export async function permittedTwin(tx: Writer, agent: Agent, payment: AgentPayment): Promise<TwinRow> {
  const { terms, wish, approvalId: id, at } = payment
  if (id !== undefined) await spendApproval(tx, agent, { id, terms, at })
  else if (!(await isWithinThreshold(tx, agent, payment)))
    throw problem('approval_required', { fields: { approval: wish } })
  const twin = await agentTwinOf(tx, agent)
  if (payment.hostname !== undefined && payment.hostname !== twin.hostname)
    throw problem('not_owner', { detail: `An agent pays from the agent twin, ${twin.hostname}.` })
  return twin
}

/** The twin that a user's agents pay from. Throws `insufficient_funds` where there is none. */
export async function agentTwinOf(tx: Reader, { user_id }: Pick<Agent, 'user_id'>): Promise<TwinRow> {
  const twin = await findAgentTwin(tx, user_id)
  if (!twin) throw problem('insufficient_funds', { detail: 'The user has no twin for agents.' })
  return twin
}

async function isWithinThreshold(tx: Reader, agent: Agent, { sums }: Pick<AgentPayment, 'sums'>): Promise<boolean> {
  await currentGrant(tx, agent)
  for (const [dq, sum] of sums) if (sum > (await thresholdOf(tx, agent.user_id, dq))) return false
  return true
}
