import type { CardSubject } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import { attemptsOf, checkRate, countRate, type RateLimit, uncountRate } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { hasReserved } from '../ledger/reservation.js'

const WINDOW = 15 * 60_000
const code = 'too_many_declines'
/** Declines of one user, account, link or network of guests. Unproven users count as the account that made them. */
const DECLINES: RateLimit = { kind: 'card_declines', most: 10, windowMs: WINDOW, code }
/** Declines of all guests of a seller together. A few, or those of one network, must not block honest guests. */
const GUEST_DECLINES: RateLimit = { kind: 'card_declines', most: 100, windowMs: WINDOW, code }
/** How long a try counts as pending. */
const PENDING_MS = 60_000

const declinesOf = (subject: CardSubject): RateLimit => (subject.startsWith('guests:') ? GUEST_DECLINES : DECLINES)

/** Tries without a known outcome. With the declines, or the charges that reserve supply, at most twice the limit. */
const pendingOf = (subject: CardSubject): RateLimit => ({
  kind: 'card_pending',
  most: declinesOf(subject).most * 2,
  windowMs: PENDING_MS,
  code: 'too_many_charges',
})

interface CardTry {
  readonly subjects: readonly CardSubject[]
  readonly at: number
}

/** Checks that a card may be tried, and counts the try as pending until `endCardTry`. Throws `too_many_declines`, `too_many_charges`. */
export async function beginCardTry(tx: Writer, { subjects, at }: CardTry): Promise<void> {
  for (const subject of subjects) await checkDeclines(tx, subject, at)
  for (const subject of subjects) await countRate(tx, pendingOf(subject), { subject, at })
}

async function checkDeclines(tx: Reader, subject: CardSubject, at: number): Promise<void> {
  await checkRate(tx, declinesOf(subject), { subject, at })
  const pending = pendingOf(subject)
  const declined = await attemptsOf(tx, declinesOf(subject), { subject, at })
  const isAtLimit = declined + (await attemptsOf(tx, pending, { subject, at })) >= pending.most
  if (!isAtLimit && !(await hasReserved(tx, subject, pending.most))) return
  throw problem(pending.code, {
    detail: 'Other cards are being charged now. Try again in 5 seconds.',
    headers: { 'retry-after': '5' },
  })
}

/** Records the outcome of a try, in the transaction that records the processor's answer. */
export async function endCardTry(
  tx: Writer,
  { subjects, at: begunAt }: CardTry,
  { isDeclined, at }: { isDeclined: boolean; at: number },
): Promise<void> {
  for (const subject of subjects) {
    await uncountRate(tx, pendingOf(subject), { subject, at: begunAt })
    if (isDeclined) await countRate(tx, declinesOf(subject), { subject, at })
  }
}
