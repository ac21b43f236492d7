import type { ServiceContext } from '../../http/context.js'
import { allRows } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type Agent,
  type ApprovalRow,
  type ApprovalTerms,
  approvalStatus,
  approvals,
  bindingOf,
  createPendingApproval,
} from './approval.js'

/** How many offers may be pending for a connection. Its requests do not count, so that refusals never block them. */
const MAX_OFFERS = 10

/**
 * Returns the approval that a refusal offers for a call: the one that an earlier refusal of the same call offered, even
 * if the user has just rejected it, or a new one. Returns undefined if the user has too many to read already. Throws
 * `field_invalid`.
 */
export async function offeredApproval(
  tx: Writer,
  agent: Agent,
  terms: ApprovalTerms,
  context: Pick<ServiceContext, 'random' | 'clock'>,
): Promise<{ readonly row: ApprovalRow; readonly isRepeated: boolean } | undefined> {
  const offers = await offersTo(tx, agent, context.clock.now())
  const binding = bindingOf(agent, terms)
  const same = offers.find((row) => row.binding === binding)
  if (same) return { row: same, isRepeated: true }
  if (offers.filter(({ status }) => status === 'pending').length >= MAX_OFFERS) return undefined
  return { row: await createPendingApproval(tx, agent, terms, { ...context, isOffer: true }), isRepeated: false }
}

/**
 * Turns an offer for exactly these terms into a request of the agent's own, so that the user is asked once. Returns
 * undefined if there is none.
 */
export async function takeOffer(
  tx: Writer,
  agent: Agent,
  terms: ApprovalTerms,
  at: number,
): Promise<ApprovalRow | undefined> {
  const binding = bindingOf(agent, terms)
  const offer = (await offersTo(tx, agent, at)).find((row) => row.binding === binding)
  // After a rejection, the agent may ask again in its own words.
  if (!offer || offer.status === 'rejected') return undefined
  const { is_offer, ...taken } = offer
  tx.put(approvals, taken)
  return taken
}

/** Offers that the user can still answer or has rejected in that time, and those that the agent can still spend. */
async function offersTo(tx: Reader, { connection_id }: Agent, at: number): Promise<ApprovalRow[]> {
  const offers: ApprovalRow[] = []
  for (const status of ['pending', 'approved', 'rejected'] as const)
    for await (const row of allRows(tx, approvals, { index: 'byConnection', prefix: [connection_id, status] }))
      if (row.is_offer && row.expires_at > at && approvalStatus(row, at) === status) offers.push(row)
  return offers
}
