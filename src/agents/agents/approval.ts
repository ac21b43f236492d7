import {
  type Agent,
  approvalOfAgent,
  approvalOfUser,
  showApproval,
  showToUser,
} from '../../consent/approvals/approval.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader } from '../../storage/storage.js'

/** Returns an approval for its agent or its user. Throws `not_found`. */
export async function readApproval(
  tx: Reader,
  caller: (Agent & { readonly kind: 'agent' }) | { readonly kind: 'user'; readonly id: number },
  id: string,
  context: Pick<ServiceContext, 'baseUrl' | 'clock'>,
) {
  if (caller.kind === 'agent') return showApproval(await approvalOfAgent(tx, caller, id), context)
  return showToUser(await approvalOfUser(tx, caller.id, id), context)
}
