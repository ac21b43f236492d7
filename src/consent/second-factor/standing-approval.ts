import { isCurrent } from '../../base/time.js'
import { allRows } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import type { StandingTerms } from './detail.js'
import type { AuthenticationRequestRow } from './request.js'

/** As long as the request that the user approved can be listed. */
export const STANDING_DAYS = 30
const LIFETIME = STANDING_DAYS * DAY

/** What a user approved for later payments too. The id is `USER:PAYEE TWIN:DIGITAL QUANTITY`. */
export interface StandingApprovalRow extends StandingTerms {
  readonly id: `${number}:${number}:${string}`
  readonly user_id: number
  /** The authentication request that the user approved. */
  readonly request_id: number
  readonly created_at: number
  readonly expires_at: number
}

export const standingApprovals = collection<StandingApprovalRow>()(
  'standing_approvals',
  { byUser: { fields: ['user_id'] }, byExpiry: { fields: ['expires_at'] } },
  {
    growth: { by: 'a user', bound: 'One for each app and kind of approval that the user answers with “for 30 days”.' },
    retention: { after: 'it expires', keepMs: 0, index: 'byExpiry' },
  },
)

const idOf = (userId: number, { payee_twin_id, dq }: Omit<StandingTerms, 'amount'>) =>
  `${userId}:${payee_twin_id}:${dq}` as const

/** Lets an approved request stand for later payments. Replaces what the user approved for the same payee before. */
export function createStandingApproval(
  tx: Writer,
  { id: request_id, user_id }: Pick<AuthenticationRequestRow, 'id' | 'user_id'>,
  terms: StandingTerms,
  at: number,
): void {
  const id = idOf(user_id, terms)
  tx.put(standingApprovals, { id, user_id, ...terms, request_id, created_at: at, expires_at: at + LIFETIME })
}

/** Whether the user has approved such a payment before. Read it in the transaction that pays. */
export async function isApprovedBefore(
  tx: Reader,
  userId: number,
  payment: StandingTerms,
  at: number,
): Promise<boolean> {
  const row = await tx.get(standingApprovals, idOf(userId, payment))
  return row !== undefined && isInForce(row, at) && BigInt(payment.amount) <= BigInt(row.amount)
}

const isInForce = ({ expires_at }: StandingApprovalRow, at: number): boolean => isCurrent(expires_at, LIFETIME, at)

/** What stands since the user approved this request. Undefined if nothing does, or no longer. */
export async function standingOf(
  tx: Reader,
  { id, user_id, standing }: AuthenticationRequestRow,
  at: number,
): Promise<StandingApprovalRow | undefined> {
  const row = standing && (await tx.get(standingApprovals, idOf(user_id, standing)))
  return row?.request_id === id && isInForce(row, at) ? row : undefined
}

/** Ends what stands since a request was approved. Later payments ask the user again. */
export const revokeStandingApproval = (tx: Writer, { id }: StandingApprovalRow): void =>
  tx.remove(standingApprovals, id)

/** Ends all standing approvals of a user. Returns how many there were. */
export async function endStandingApprovalsOf(tx: Writer, userId: number): Promise<number> {
  let count = 0
  for await (const row of allRows(tx, standingApprovals, { index: 'byUser', prefix: [userId] })) {
    revokeStandingApproval(tx, row)
    count++
  }
  return count
}
