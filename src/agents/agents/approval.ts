import {
  type Agent,
  agentsApproval,
  showApproval,
  showToUser,
  usersApproval,
} from '../../consent/approvals/approval.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader } from '../../storage/storage.js'

/** An approval, for the agent that asked for it or its user. Throws `not_found`. */
export async function readApproval(
  tx: Reader,
  caller: (Agent & { readonly kind: 'agent' }) | { readonly kind: 'user'; readonly id: number },
  id: string,
  context: Pick<ServiceContext, 'baseUrl' | 'clock'>,
) {
  if (caller.kind === 'agent') return showApproval(await agentsApproval(tx, caller, id), context)
  return showToUser(await usersApproval(tx, caller.id, id), context)
}
