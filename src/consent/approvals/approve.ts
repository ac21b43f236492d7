import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import type { Reader } from '../../storage/storage.js'
import { awaitSecondFactor, spendAwaited, type UserSession } from '../second-factor/await-second-factor.js'
import type { AuthenticationRequestRow } from '../second-factor/request.js'
import { type ApprovalRow, approvalOfUser, approvalStatus, decideApproval, showToUser } from './approval.js'
import { checkApprovedPrice } from './approved-price.js'
import { secondFactorDetail, thresholdDetail } from './second-factor.js'
import { isRaised, type NewThresholds, setThresholds } from './settings.js'

/**
 * Approves what an agent requested. With a session it first waits for the user's second factor.
 * Throws `not_found`, `not_pending`, `price_changed`, and everything that `awaitSecondFactor` throws.
 */
export async function approveApproval(
  service: ServiceContext,
  { id, userId, session, seen }: { id: string; userId: number; session: UserSession | undefined; seen: PriceQuote },
) {
  const { storage, clock } = service
  const orderOf = async (tx: Reader, row: ApprovalRow, { sessionId }: UserSession) => ({
    ...{ userId, sessionId, action: 'approval' },
    detail: await secondFactorDetail(tx, row),
  })
  let asked: AuthenticationRequestRow | undefined
  if (session) {
    const order = await storage.read(async (tx) => {
      const row = await approvalOfUser(tx, userId, id)
      if (approvalStatus(row, clock.now()) !== 'pending') throw problem('not_pending')
      await checkApprovedPrice(tx, row, seen)
      return orderOf(tx, row, session)
    })
    asked = await awaitSecondFactor(service, order)
  }
  return storage.write(async (tx) => {
    const at = clock.now()
    const row = await approvalOfUser(tx, userId, id)
    await checkApprovedPrice(tx, row, seen)
    if (asked && session) await spendAwaited(tx, asked, await orderOf(tx, row, session), at)
    const decided = await decideApproval(tx, row, { decision: 'approved', at })
    if (decided instanceof Problem) throw decided
    return showToUser(decided, service)
  })
}

/**
 * Stores new thresholds. A session that raises one first waits for the user's second factor.
 * Throws like `setThresholds` and `awaitSecondFactor`.
 */
export async function updateAgentSettings(
  service: ServiceContext,
  { userId, thresholds, session }: { userId: number; thresholds: NewThresholds; session: UserSession | undefined },
) {
  const { storage, clock } = service
  const order = session && (await storage.read((tx) => secondFactorOrderOf(tx, thresholds, session)))
  const asked = order && (await awaitSecondFactor(service, order))
  return storage.write(async (tx) => {
    const at = clock.now()
    if (asked && order) await spendAwaited(tx, asked, order, at)
    // If another request lowered a threshold meanwhile, this one would raise it without a second factor.
    else if (session && (await isRaised(tx, userId, thresholds))) throw problem('approval_timeout')
    return setThresholds(tx, userId, { thresholds, at })
  })
}

/** The second factor that a session needs to raise a threshold. Returns undefined if it raises none. */
async function secondFactorOrderOf(tx: Reader, thresholds: NewThresholds, { userId, sessionId }: UserSession) {
  if (!(await isRaised(tx, userId, thresholds))) return undefined
  return { userId, sessionId, action: 'agent_settings', detail: await thresholdDetail(tx, thresholds) }
}
