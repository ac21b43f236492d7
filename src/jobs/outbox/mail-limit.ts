import { normalEmail } from '../../base/text/email.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { checkRate, countRate, isRateReached, type RateLimit, refundRate, spendRate } from '../rates/rate.js'

/**
 * Limits on mail that other people cause. Sign-in codes have their own limit (`identity/sessions/sign-in-code.ts`).
 * Notices about a user's own security (a device, a proven address) have none, so that nobody can suppress them.
 */

const most = { most: 5, windowMs: 15 * 60_000, code: 'too_many_mails' } as const

/** Invitations and notices to one address, from anybody. */
const TO_ADDRESS: RateLimit = { kind: 'mail', ...most }

/** Authentication requests to one user, on a device or by mail, that one page, account or user causes. */
const ASKED: RateLimit = { kind: 'asked', ...most }

/**
 * Letters about an account's plan to one address. They have their own limit, so that strangers' invitations cannot
 * suppress them.
 */
const LETTERS: RateLimit = { kind: 'letter', ...most }

interface Mailing {
  readonly to: string
  readonly at: number
}

/** Checks that one more invitation may be mailed. Throws `too_many_mails`. */
export const checkInvitation = (tx: Reader, { to, at }: Mailing): Promise<void> =>
  checkRate(tx, TO_ADDRESS, { subject: normalEmail(to), at })

/** Counts an invitation. Throws `too_many_mails`. */
export const spendInvitation = (tx: Writer, { to, at }: Mailing): Promise<void> =>
  spendRate(tx, TO_ADDRESS, { subject: normalEmail(to), at })

/** Counts a notice. Returns false if the limit is reached: then it is not sent. */
export const spendNotice = (tx: Writer, { to, at }: Mailing): Promise<boolean> =>
  isSpent(tx, TO_ADDRESS, { subject: normalEmail(to), at })

/** Counts a letter about an account's plan. Returns false if the limit is reached. */
export const spendLetter = (tx: Writer, { accountId, to, at }: Mailing & { accountId: number }): Promise<boolean> =>
  isSpent(tx, LETTERS, { subject: `account:${accountId}>${normalEmail(to)}`, at })

/** An authentication request that is limited. `asker`: `user:1`, a page, or the sign-in on a new browser. */
export interface LimitedRequest {
  readonly asker: string
  readonly userId: number
  readonly at: number
}

/** Counts a request. Throws `too_many_mails`. */
export const spendRequest = (tx: Writer, asking: LimitedRequest): Promise<void> =>
  spendRate(tx, ASKED, countedOf(asking))

/** Stops counting a request, because its user approved it. `at`: when it was counted. */
export const refundRequest = (tx: Writer, asking: LimitedRequest): Promise<void> =>
  refundRate(tx, ASKED, countedOf(asking))

const countedOf = ({ asker, userId, at }: LimitedRequest) => ({ subject: `${asker}>user:${userId}`, at })

async function isSpent(tx: Writer, limit: RateLimit, counted: { subject: string; at: number }): Promise<boolean> {
  if (await isRateReached(tx, limit, counted)) return false
  await countRate(tx, limit, counted)
  return true
}
