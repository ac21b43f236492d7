import type { ServiceContext } from '../context.js'
import { nameOf, oidcClients } from '../oidc/client.js'
import { Problem, problem } from '../problem.js'
import type { AuthenticationRequestRow } from '../second-factor/request.js'
import { type AskingSession, askAndWait, spendAsked } from '../second-factor/wait.js'
import type { Reader } from '../storage/storage.js'
import { type ApprovalRow, decide, showToUser, statusOf, usersApproval } from './approval.js'
import { isRaised, type NewThresholds, updateAgentSettings } from './settings.js'

/** What a second device shows of an approval: its id stands for the whole of it. */
export async function secondFactorDetail(tx: Reader, { id, client_id, summary }: ApprovalRow) {
  const client = await tx.get(oidcClients, client_id)
  return { app: client ? nameOf(client) : client_id, request: summary, approval: id }
}

/** Approves as the user's token says, or a session of theirs once a second device did. Throws `not_found`, `not_pending` and as `askAndWait`. */
export async function approve(
  service: ServiceContext,
  { id, userId, asking }: { id: string; userId: number; asking: AskingSession | undefined },
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
      if (statusOf(row, clock.now()) !== 'pending') throw problem('not_pending')
      return orderOf(tx, row, asking)
    })
    asked = await askAndWait(service, order)
  }
  return storage.write(async (tx) => {
    const at = clock.now()
    const row = await usersApproval(tx, userId, id)
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
  const raised = asking && (await storage.read((tx) => isRaised(tx, userId, thresholds)))
  const order = {
    ...{ userId, sessionId: asking?.sessionId, action: 'agent_settings' },
    detail: { without_approval: thresholds },
  }
  const asked = raised ? await askAndWait(service, order) : undefined
  return storage.write(async (tx) => {
    const at = clock.now()
    if (asked) await spendAsked(tx, asked, order, at)
    // What was lowered meanwhile would be raised by this.
    else if (asking && (await isRaised(tx, userId, thresholds))) throw problem('approval_timeout')
    return updateAgentSettings(tx, userId, { thresholds, at })
  })
}
