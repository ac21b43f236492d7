import { Problem } from '../../base/problem.js'
import { type ApprovalRow, approvals, decideApproval, showToUser } from '../../consent/approvals/approval.js'
import type { ServiceContext } from '../../http/context.js'
import { getOrNotFound } from '../../storage/existing.js'
import type { Writer } from '../../storage/storage.js'

/** Answers an approval as its user. Throws `not_found`, `not_pending`. */
export async function answerApproval(
  tx: Writer,
  { id, decision }: { id: string; decision: 'approved' | 'rejected' },
  service: ServiceContext,
) {
  const row = await getOrNotFound(tx, approvals, id)
  const decided: ApprovalRow | Problem = await decideApproval(tx, row, { decision, at: service.clock.now() })
  if (decided instanceof Problem) throw decided
  return showToUser(decided, service)
}
