import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import type { Reader } from '../../storage/storage.js'
import type { AuthenticationRequestRow } from '../second-factor/request.js'
import { type AskingSession, askAndWait, spendAsked } from '../second-factor/wait.js'
import { type ApprovalRow, approvalStatus, decide, showToUser, usersApproval } from './approval.js'
import { checkApprovedPrice } from './price.js'
import { secondFactorDetail, thresholdDetail } from './second-factor.js'
import { isRaised, type NewThresholds, updateAgentSettings } from './settings.js'

/** Approves as the user's token says, or a session of theirs once a second device did. Throws `not_found`, `not_pending`, `price_changed` and as `askAndWait`. */
export async function approve(
  service: ServiceContext,
  { id, userId, asking, seen }: { id: string; userId: number; asking: AskingSession | undefined; seen: PriceQuote },
) {
  const { storage, clock } = service
  const orderOf = async (tx: Reader, row: ApprovalRow, { sessionId }: AskingSession) => ({
    ...{ userId, sessionId, action: 'approval' },
    detail: await secondFactorDetail(tx, row),
  })
  let asked: AuthenticationRequestRow | undefined
  if (asking) {
    const order = await storage.read(async (tx) => {
      const row = await usersApproval(tx, userId, id)
      if (approvalStatus(row, clock.now()) !== 'pending') throw problem('not_pending')
      await checkApprovedPrice(tx, row, seen)
      return orderOf(tx, row, asking)
    })
    asked = await askAndWait(service, order)
  }
  return storage.write(async (tx) => {
    const at = clock.now()
    const row = await usersApproval(tx, userId, id)
    await checkApprovedPrice(tx, row, seen)
    if (asked && asking) await spendAsked(tx, asked, await orderOf(tx, row, asking), at)
    const decided = await decide(tx, row, { decision: 'approved', at })
    if (decided instanceof Problem) throw decided
    return showToUser(decided, service)
  })
}

/** Changes thresholds; for a session that raises one, once a second device approved. Throws as `updateAgentSettings` and `askAndWait`. */
export async function changeThresholds(
  service: ServiceContext,
  { userId, thresholds, asking }: { userId: number; thresholds: NewThresholds; asking: AskingSession | undefined },
) {
  const { storage, clock } = service
  const order = asking && (await storage.read((tx) => raisingOrder(tx, thresholds, asking)))
  const asked = order && (await askAndWait(service, order))
  return storage.write(async (tx) => {
    const at = clock.now()
    if (asked && order) await spendAsked(tx, asked, order, at)
    // What was lowered meanwhile would be raised by this.
    else if (asking && (await isRaised(tx, userId, thresholds))) throw problem('approval_timeout')
    return updateAgentSettings(tx, userId, { thresholds, at })
  })
}

/** What a session is to have approved that raises a threshold; undefined where it raises none. */
async function raisingOrder(tx: Reader, thresholds: NewThresholds, { userId, sessionId }: AskingSession) {
  if (!(await isRaised(tx, userId, thresholds))) return undefined
  return { userId, sessionId, action: 'agent_settings', detail: await thresholdDetail(tx, thresholds) }
}
