import type { CardSubject } from '../../base/message.js'
import { problem } from '../../base/problem.js'
import { attemptsOf, checkRate, countRate, type RateLimit, uncountRate } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'

const WINDOW = 15 * 60_000
const code = 'too_many_declines'
/** Of one user, account or link. */
const DECLINES: RateLimit = { kind: 'card_declines', most: 10, windowMs: WINDOW, code }
/** Of all guests of a seller: links and sessions cost nothing, and honest guests must not be shut out by a few declines. */
const GUEST_DECLINES: RateLimit = { kind: 'card_declines', most: 100, windowMs: WINDOW, code }
/** A try that takes longer is not waited for. */
const PENDING_MS = 60_000

const declinesOf = (subject: CardSubject): RateLimit => (subject.startsWith('guests:') ? GUEST_DECLINES : DECLINES)

/** Those whose outcome is not known yet: with them, a subject may go over its limit by as much again at most. */
const pendingOf = (subject: CardSubject): RateLimit => ({
  kind: 'card_pending',
  most: declinesOf(subject).most * 2,
  windowMs: PENDING_MS,
  code,
})

/** A card that is about to be tried. */
export interface CardTry {
  readonly subjects: readonly CardSubject[]
  readonly at: number
}

/** Lets a card be tried, and counts it as pending until `endCardTry`. Throws `too_many_declines`. */
export async function beginCardTry(tx: Writer, { subjects, at }: CardTry): Promise<void> {
  for (const subject of subjects) await checkDeclines(tx, subject, at)
  for (const subject of subjects) await countRate(tx, pendingOf(subject), { subject, at })
}

async function checkDeclines(tx: Reader, subject: CardSubject, at: number): Promise<void> {
  await checkRate(tx, declinesOf(subject), { subject, at })
  const pending = pendingOf(subject)
  const declined = await attemptsOf(tx, declinesOf(subject), { subject, at })
  if (declined + (await attemptsOf(tx, pending, { subject, at })) < pending.most) return
  throw problem(code, {
    detail: 'Other cards are being tried at this moment. Try again in 5 seconds.',
    headers: { 'retry-after': '5' },
  })
}

/** Writes down what came of a try, in the transaction that notes the processor's answer. */
export async function endCardTry(
  tx: Writer,
  { subjects, at: begunAt }: CardTry,
  { isDeclined, at }: { readonly isDeclined: boolean; readonly at: number },
): Promise<void> {
  for (const subject of subjects) {
    await uncountRate(tx, pendingOf(subject), { subject, at: begunAt })
    if (isDeclined) await countRate(tx, declinesOf(subject), { subject, at })
  }
}
