import { Problem, problem } from '../../../base/problem.js'
import { readApproval } from '../../agents/approval.js'
import type { ToolCall } from './tool.js'

/** An approval that the agent asked for. Throws `not_found`, which says that it is the approval that is not there. */
export async function approvalNamed({ agent, service }: Pick<ToolCall, 'agent' | 'service'>, id: string) {
  try {
    return await service.storage.read((tx) => readApproval(tx, agent, id, service))
  } catch (cause) {
    if (!(cause instanceof Problem) || cause.code !== 'not_found') throw cause
    throw problem('not_found', { detail: 'No approval of yours has this approval_id.', cause })
  }
}

/** The approval that a call is made by, if any: that which the user gave in place, or the one that the agent names. Throws as `approvalNamed`. */
export async function givenApproval(call: ToolCall, named: string | undefined): Promise<string | undefined> {
  const id = call.approvalId ?? named
  return id === undefined ? undefined : (await approvalNamed(call, id)).approval_id
}
