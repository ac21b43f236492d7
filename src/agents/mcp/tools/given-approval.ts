import { Problem, problem } from '../../../base/problem.js'
import { readApproval } from '../../agents/request.js'
import type { ToolCall } from './tool.js'

/** Returns an approval that the agent requested. Throws `not_found` with a detail about the approval. */
export async function approvalNamed({ agent, service }: Pick<ToolCall, 'agent' | 'service'>, id: string) {
  try {
    return await service.storage.read((tx) => readApproval(tx, agent, id, service))
  } catch (cause) {
    if (!(cause instanceof Problem) || cause.code !== 'not_found') throw cause
    throw problem('not_found', { detail: 'You have no approval with this approval_id.', cause })
  }
}

/** The approval of a call: the one that the user gave in place, or the one that the agent names. Throws `not_found`. */
export async function givenApproval(call: ToolCall, named: string | undefined): Promise<string | undefined> {
  const id = call.approvalId ?? named
  return id === undefined ? undefined : (await approvalNamed(call, id)).approval_id
}
