import { type ProblemCode, problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** The moments, in milliseconds, at which one subject did what is limited. The id is `kind:digest of the subject`. */
export interface RateRow {
  readonly id: string
  /** Oldest first; never more than the limit allows. */
  readonly times: readonly number[]
  /** When the last of them leaves the window: the row is of no use after it. */
  readonly until: number
}

export const rates = collection<RateRow>()('rates', { byEnd: { fields: ['until'] } }, { isTally: true })

/** At most `most` in any `windowMs` milliseconds, counted for each subject by itself. */
export interface RateLimit {
  /** A snake_case word; two limits of one kind share their count. */
  readonly kind: string
  readonly most: number
  readonly windowMs: number
  /** What a caller over the limit is told; its status is 429. */
  readonly code: ProblemCode
}

/** Whom a limit counts: an address, `user:1`, an account and so on. */
export interface CountedAttempt {
  readonly subject: string
  readonly at: number
}

/** Throws the limit's problem, with `Retry-After` in seconds, where the subject has reached it. Counts nothing. */
export async function checkRate(tx: Reader, limit: RateLimit, counted: CountedAttempt): Promise<void> {
  const free = await freeAt(tx, limit, counted)
  if (free === undefined) return
  const retryAfter = Math.max(1, Math.ceil((free - counted.at) / 1000))
  throw problem(limit.code, {
    detail: `Try again in ${retryAfter} seconds.`,
    headers: { 'retry-after': String(retryAfter) },
  })
}

/** Whether the subject has reached the limit, for those who do without rather than refuse. */
export const isRateReached = async (tx: Reader, limit: RateLimit, counted: CountedAttempt): Promise<boolean> =>
  (await freeAt(tx, limit, counted)) !== undefined

/** When the subject may go on; undefined where it may now. */
async function freeAt(tx: Reader, limit: RateLimit, { subject, at }: CountedAttempt): Promise<number | undefined> {
  const recent = recentTimes(await tx.get(rates, idOf(limit, subject)), limit, at)
  const first = recent[recent.length - limit.most]
  return first === undefined ? undefined : first + limit.windowMs
}

/** Counts one. A transaction that throws counts nothing, so a failure that must count is returned, not thrown. */
export async function countRate(tx: Writer, limit: RateLimit, { subject, at }: CountedAttempt): Promise<void> {
  await removeOldRates(tx, at)
  const id = idOf(limit, subject)
  const recent = recentTimes(await tx.get(rates, id), limit, at)
  const times = [...recent, at].slice(-limit.most)
  tx.put(rates, { id, times, until: at + limit.windowMs })
}

/** How often the subject did it within the window, as far as that is counted. */
export const attemptsOf = async (tx: Reader, limit: RateLimit, { subject, at }: CountedAttempt): Promise<number> =>
  recentTimes(await tx.get(rates, idOf(limit, subject)), limit, at).length

/** Takes one back that was counted at the time `at`, where it is still known. */
export async function uncountRate(tx: Writer, limit: RateLimit, { subject, at }: CountedAttempt): Promise<void> {
  const row = await tx.get(rates, idOf(limit, subject))
  const place = row?.times.lastIndexOf(at) ?? -1
  if (!row || place < 0) return
  const times = row.times.toSpliced(place, 1)
  if (times.length === 0) tx.remove(rates, row.id)
  else tx.put(rates, { ...row, times })
}

/** Checks, then counts. Throws as `checkRate` does. */
export async function spendRate(tx: Writer, limit: RateLimit, counted: CountedAttempt): Promise<void> {
  await checkRate(tx, limit, counted)
  await countRate(tx, limit, counted)
}

/** Takes back one that was counted `at` that moment, if it is still counted. */
export async function refundRate(tx: Writer, limit: RateLimit, { subject, at }: CountedAttempt): Promise<void> {
  const row = await tx.get(rates, idOf(limit, subject))
  const index = row?.times.indexOf(at) ?? -1
  if (row && index >= 0) tx.put(rates, { ...row, times: row.times.toSpliced(index, 1) })
}

const idOf = ({ kind }: RateLimit, subject: string): string => `${kind}:${digest(subject)}`

const recentTimes = (row: RateRow | undefined, { windowMs }: RateLimit, at: number): readonly number[] =>
  row?.times.filter((time) => time > at - windowMs) ?? []

/** A few at a time, so that they don't pile up and no call pays for all. */
async function removeOldRates(tx: Writer, at: number): Promise<void> {
  for (const old of await tx.find(rates, { index: 'byEnd', prefix: [], limit: 5 }))
    if (old.until <= at) tx.remove(rates, old.id)
}
