import { Problem, problem } from '../../base/problem.js'
import { approvalUrl } from '../../consent/approvals/approval.js'
import type { ServiceContext } from '../../http/context.js'
import { isObject } from '../../storage/unknown.js'
import { type CallingAgent, offerApproval, type SentWish, wishOf } from './request.js'

const REJECTED = { detail: 'The user rejected it. To ask again, request an approval.' }

/**
 * Offers an approval for a call that was refused with `approval_required`: the refusal then has the `approval_id`, and
 * the `url` where the user approves. It becomes `approval_not_given` if the user has just rejected it, and stays as it is
 * if no approval can be offered.
 * `within`: the account whose own server the agent calls.
 */
export async function withOffer(refusal: Problem, agent: CallingAgent, service: ServiceContext, within?: number) {
  const { approval: wish } = refusal.fields
  if (refusal.code !== 'approval_required' || !isObject(wish)) return { refusal, approval: undefined }
  const approval = await offered(wish as SentWish, agent, service, within)
  if (!approval) return { refusal, approval }
  const { approval_id, url, status } = approval
  if (status === 'rejected')
    return {
      refusal: problem('approval_not_given', { ...REJECTED, fields: { approval_id, approval_status: status } }),
      approval,
    }
  const fields = { ...refusal.fields, approval_id, url }
  const detail = `They can do so at ${url}. Then repeat this call with "approval_id": "${approval_id}".`
  return { refusal: problem('approval_required', { detail, fields, cause: refusal }), approval }
}

async function offered(wish: SentWish, agent: CallingAgent, service: ServiceContext, within: number | undefined) {
  try {
    return await service.storage.write((tx) => offerApproval(tx, agent, wishOf(wish), service, within))
  } catch (error) {
    // The call is refused in any case.
    if (error instanceof Problem) return undefined
    throw error
  }
}

/** Adds to the refusal of a call whose approval is still pending where the user approves. */
export function withUrl(refusal: Problem, service: Pick<ServiceContext, 'baseUrl'>): Problem {
  const { approval_id: id, approval_status: status } = refusal.fields
  if (refusal.code !== 'approval_not_given' || id === undefined || status !== 'pending') return refusal
  const url = approvalUrl(id, service)
  const detail = `The user has not answered yet. They can do so at ${url}. Then retry.`
  return problem('approval_not_given', { detail, fields: { ...refusal.fields, url }, cause: refusal })
}

export const completeRefusal = async (refusal: Problem, agent: CallingAgent, service: ServiceContext) =>
  (await withOffer(withUrl(refusal, service), agent, service)).refusal
