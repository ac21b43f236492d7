import { problem } from '../../base/problem.js'
import { quotedAddress } from '../../base/text/quotation.js'
import { type Agent, type ApprovalTerms, spendApproval } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { planTransfer, type TransferOrder, type TransferPlan } from './plan.js'

/** An agent sends with its user's approval. */
export interface AgentRight {
  readonly by: 'agent'
  readonly agent: Agent
  readonly approvalId: string | undefined
}

/** What an agent's user approves: the payee and the amount. Throws like `planTransfer`. */
export const transferTerms = async (tx: Reader, order: TransferOrder): Promise<ApprovalTerms> =>
  termsOf(await planTransfer(tx, order))

function termsOf({ sender, address, amount, quantity, memo }: TransferPlan): ApprovalTerms {
  const value = priceDetail(quantity, amount)
  return {
    kind: 'transfer',
    detail: { from: sender.hostname, payee: address, ...value, memo },
    summary: `Send ${value.price} to ${quotedAddress(address)}`,
  }
}

/** Spends an agent's approval. No threshold applies, because value leaves the user's own wallet. Throws `approval_required`, and everything that `spendApproval` throws. */
export async function spendAgentApproval(
  tx: Writer,
  { agent, approvalId: id }: AgentRight,
  plan: TransferPlan,
  at: number,
): Promise<void> {
  if (id !== undefined) return spendApproval(tx, agent, { id, terms: termsOf(plan), at })
  const { address, amount, quantity, memo } = plan
  const { amount: wished, dq } = priceDetail(quantity, amount)
  const approval = { kind: 'transfer', address, amount: wished, dq, ...(memo !== null && { memo }) }
  throw problem('approval_required', { fields: { approval } })
}
