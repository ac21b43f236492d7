import { isCurrent } from '../../base/time.js'
import type { ProvenUser } from '../../http/context.js'
import { generationOf } from '../../identity/users/user.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { AuthenticationRequestRow } from './request.js'
import type { StandingTerms } from './wording.js'

/** As long as the request that the user approved can be listed. */
export const STANDING_DAYS = 30
const STANDING_APPROVAL_MS = STANDING_DAYS * DAY

/** What a user approved for later payments too. The id is `USER:PAYEE TWIN:DIGITAL QUANTITY`. */
export interface StandingApprovalRow extends StandingTerms {
  readonly id: `${number}:${number}:${string}`
  readonly user_id: number
  /** The user's. An approval of a lower one is dead. */
  readonly generation: number
  /** The authentication request that the user approved. */
  readonly request_id: number
  readonly created_at: number
  readonly expires_at: number
}

export const standingApprovals = collection<StandingApprovalRow>()(
  'standing_approvals',
  { byUser: { fields: ['user_id', 'generation'] }, byExpiry: { fields: ['expires_at'] } },
  {
    refs: { dq: 'digital_quantities', payee_twin_id: 'twins', request_id: 'authentication_requests', user_id: 'users' },
    growth: { by: 'a user', bound: 'One for each app and kind of approval that the user answers with “for 30 days”.' },
    retention: { after: 'it expires', keepMs: 0, index: 'byExpiry' },
  },
)

const idOf = (userId: number, { payee_twin_id, dq }: Omit<StandingTerms, 'amount'>) =>
  `${userId}:${payee_twin_id}:${dq}` as const

/** Lets an approved request stand for later payments. Replaces what the user approved for the same payee before. */
export function createStandingApproval(
  tx: Writer,
  { id: request_id, user_id, generation }: Pick<AuthenticationRequestRow, 'id' | 'user_id' | 'generation'>,
  terms: StandingTerms,
  at: number,
): void {
  const times = { created_at: at, expires_at: at + STANDING_APPROVAL_MS }
  tx.put(standingApprovals, { id: idOf(user_id, terms), user_id, generation, ...terms, request_id, ...times })
}

/** Whether the user has approved such a payment before. Read it in the transaction that pays. */
export async function isApprovedBefore(tx: Reader, userId: number, payment: StandingTerms, at: number) {
  const row = await tx.get(standingApprovals, idOf(userId, payment))
  return row !== undefined && BigInt(payment.amount) <= BigInt(row.amount) && isInForce(tx, row, at)
}

const isInForce = async (tx: Reader, { expires_at, user_id, generation }: StandingApprovalRow, at: number) =>
  isCurrent(expires_at, STANDING_APPROVAL_MS, at) && generation === (await generationOf(tx, `user:${user_id}`))

/** What stands since the user approved this request. Undefined if nothing does, or no longer. */
export async function standingOf(tx: Reader, { id, user_id, standing }: AuthenticationRequestRow, at: number) {
  const row = standing && (await tx.get(standingApprovals, idOf(user_id, standing)))
  return row?.request_id === id && (await isInForce(tx, row, at)) ? row : undefined
}

/** Ends what stands since a request was approved. Later payments ask the user again. */
export const revokeStandingApproval = (tx: Writer, { id }: StandingApprovalRow): void =>
  tx.remove(standingApprovals, id)

/** Removes the standing approvals of a user's former generations. Returns how many it removed. */
export async function endStandingApprovalsOf(tx: Writer, { userId, generation, most }: ProvenUser): Promise<number> {
  const oldest = await tx.find(standingApprovals, { index: 'byUser', prefix: [userId], limit: most })
  const ended = oldest.filter((row) => row.generation < generation)
  for (const row of ended) revokeStandingApproval(tx, row)
  return ended.length
}
