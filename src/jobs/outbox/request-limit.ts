import type { Writer } from '../../storage/storage.js'
import { type RateLimit, spendRate, uncountRate } from '../rates/rate.js'

/**
 * Authentication requests to one user, on a device or by mail, that one page, account or user causes. What is mailed has
 * limits of its own (`identity/mail/send-mail.ts`).
 */
const ASKED: RateLimit = { kind: 'asked', most: 5, windowMs: 15 * 60_000, code: 'too_many_mails' }

/** An authentication request that is limited. `asker`: `user:1`, a page, or the sign-in on a new browser. */
export type LimitedRequest = { readonly asker: string; readonly userId: number; readonly at: number }

/** Counts a request. Throws `too_many_mails`. */
export const spendRequest = (tx: Writer, asking: LimitedRequest): Promise<void> =>
  spendRate(tx, ASKED, countedOf(asking))

/** Stops counting a request, because its user approved it. `at`: when it was counted. */
export const refundRequest = (tx: Writer, asking: LimitedRequest): Promise<void> =>
  uncountRate(tx, ASKED, countedOf(asking))

const countedOf = ({ asker, userId, at }: LimitedRequest) => ({ subject: `${asker}>user:${userId}`, at })
