import { normalEmail } from '../../base/text/email.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { checkRate, countRate, isRateReached, type RateLimit, refundRate, spendRate } from '../rates/rate.js'

/**
 * How often people are written to for what others do. Sign-in codes have a limit of their own (`identity/sessions/sign-in-code.ts`);
 * notices about a user's own security (a device, a proven address) have none, so that nobody can keep them away.
 */

const most = { most: 5, windowMs: 15 * 60_000, code: 'too_many_mails' } as const

/** Invitations and notices to one address, whoever causes them. */
const TO_ADDRESS: RateLimit = { kind: 'mail', ...most }

/** Requests that one page, account or user has a user asked by, on a device or by mail. */
const ASKED: RateLimit = { kind: 'asked', ...most }

/** What one account is told of its plan at one address. No stranger's invitation keeps those letters away. */
const LETTERS: RateLimit = { kind: 'letter', ...most }

interface Mailing {
  readonly to: string
  readonly at: number
}

/** Throws `too_many_mails`. */
export const checkInvitation = (tx: Reader, { to, at }: Mailing): Promise<void> =>
  checkRate(tx, TO_ADDRESS, { subject: normalEmail(to), at })

/** Counts an invitation. Throws `too_many_mails`. */
export const spendInvitation = (tx: Writer, { to, at }: Mailing): Promise<void> =>
  spendRate(tx, TO_ADDRESS, { subject: normalEmail(to), at })

/** Counts a notice, which nobody waits for. False where it is one too many: it is not sent then. */
export const spendNotice = (tx: Writer, { to, at }: Mailing): Promise<boolean> =>
  isSpent(tx, TO_ADDRESS, { subject: normalEmail(to), at })

/** Counts a letter of an account's. False where it is one too many. */
export const spendLetter = (tx: Writer, { accountId, to, at }: Mailing & { accountId: number }): Promise<boolean> =>
  isSpent(tx, LETTERS, { subject: `account:${accountId}>${normalEmail(to)}`, at })

/** Who asks whom: `user:1`, a page, or the sign-in on a new browser. */
export interface LimitedRequest {
  readonly asker: string
  readonly userId: number
  readonly at: number
}

/** Counts a request. Throws `too_many_mails`. */
export const spendRequest = (tx: Writer, asking: LimitedRequest): Promise<void> =>
  spendRate(tx, ASKED, countedOf(asking))

/** A request that its user approved was no nuisance: it counts no more. `at`: when it was counted. */
export const refundRequest = (tx: Writer, asking: LimitedRequest): Promise<void> =>
  refundRate(tx, ASKED, countedOf(asking))

const countedOf = ({ asker, userId, at }: LimitedRequest) => ({ subject: `${asker}>user:${userId}`, at })

async function isSpent(tx: Writer, limit: RateLimit, counted: { subject: string; at: number }): Promise<boolean> {
  if (await isRateReached(tx, limit, counted)) return false
  await countRate(tx, limit, counted)
  return true
}
