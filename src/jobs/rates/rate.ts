import { type ProblemCode, problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { isAhead } from '../../base/time.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** When one subject made its recent tries, in Unix milliseconds. The id is `kind:digest of the subject`. */
export interface RateRow {
  readonly id: string
  /** Oldest first; never more than the limit allows. */
  readonly times: readonly number[]
  /** When the last of them leaves the window. The row is useless after that. */
  readonly until: number
}

export const rates = collection<RateRow>()(
  'rates',
  { byEnd: { fields: ['until'] } },
  {
    isTally: true,
    growth: {
      by: 'whoever does what a rate limits',
      bound: 'One for each limit and each subject that it counts. It goes when its window is over.',
    },
    retention: { after: 'its last try no longer counts', keepMs: 0, index: 'byEnd' },
  },
)

/** At most `most` tries in any `windowMs` milliseconds, counted for each subject. */
export interface RateLimit {
  /** In snake_case. Limits of the same kind share their counts. */
  readonly kind: string
  readonly most: number
  readonly windowMs: number
  /** The error above the limit. Its status is 429. */
  readonly code: ProblemCode
  /** The detail of that error, by how long to wait. Default: says so. */
  readonly detail?: (seconds: number) => string
}

/** One try. `subject`: whom the limit counts, such as an address or `user:1`. */
export interface CountedAttempt {
  readonly subject: string
  readonly at: number
  /** How many tries it is. Default: 1. */
  readonly times?: number | undefined
}

/**
 * Throws the limit's problem, with `Retry-After` in seconds, if the subject has reached the limit. Without it, if this many tries
 * at once are more than the limit ever allows. Counts nothing.
 */
export async function checkRate(tx: Reader, limit: RateLimit, counted: CountedAttempt): Promise<void> {
  const { times = 1 } = counted
  if (times > limit.most)
    throw problem(limit.code, {
      detail: `This is ${times} at once, and the limit is ${limit.most}. Ask for fewer: waiting does not help.`,
    })
  const free = await freeAt(tx, limit, counted)
  if (free === undefined) return
  const retryAfter = Math.max(1, Math.ceil((free - counted.at) / 1000))
  throw problem(limit.code, {
    detail: limit.detail?.(retryAfter) ?? `Try again in ${retryAfter} seconds.`,
    headers: { 'retry-after': String(retryAfter) },
  })
}

/** Whether the subject has reached the limit, for callers that skip instead of refusing. */
export const isRateReached = async (tx: Reader, limit: RateLimit, counted: CountedAttempt): Promise<boolean> =>
  (await freeAt(tx, limit, counted)) !== undefined

/** When the subject may try again. Undefined if it may try now. */
async function freeAt(
  tx: Reader,
  limit: RateLimit,
  { subject, at, times = 1 }: CountedAttempt,
): Promise<number | undefined> {
  const recent = recentTimes(await tx.get(rates, idOf(limit, subject)), limit, at)
  // So many at once are more than the limit ever allows.
  if (times > limit.most) return at + limit.windowMs
  const first = recent[recent.length - limit.most + times - 1]
  return first === undefined ? undefined : first + limit.windowMs
}

/** Counts a try. A transaction that throws counts nothing, so return a failure that must count. */
export async function countRate(
  tx: Writer,
  limit: RateLimit,
  { subject, at, times: tries = 1 }: CountedAttempt,
): Promise<void> {
  const id = idOf(limit, subject)
  const recent = recentTimes(await tx.get(rates, id), limit, at)
  const times = [...recent, ...Array<number>(tries).fill(at)].slice(-limit.most)
  tx.put(rates, { id, times, until: at + limit.windowMs })
}

/** How many tries of the subject are in the window, at most `most`. */
export const attemptsOf = async (tx: Reader, limit: RateLimit, { subject, at }: CountedAttempt): Promise<number> =>
  recentTimes(await tx.get(rates, idOf(limit, subject)), limit, at).length

/** Stops counting a try of the time `at`, if it is still counted. Removes the row if it was the only one. */
export async function uncountRate(tx: Writer, limit: RateLimit, { subject, at }: CountedAttempt): Promise<void> {
  const row = await tx.get(rates, idOf(limit, subject))
  const place = row?.times.lastIndexOf(at) ?? -1
  if (!row || place < 0) return
  const times = row.times.toSpliced(place, 1)
  if (times.length === 0) tx.remove(rates, row.id)
  else tx.put(rates, { ...row, times })
}

/** Checks, then counts. Throws like `checkRate`. */
export async function spendRate(tx: Writer, limit: RateLimit, counted: CountedAttempt): Promise<void> {
  await checkRate(tx, limit, counted)
  await countRate(tx, limit, counted)
}

const idOf = ({ kind }: RateLimit, subject: string): string => `${kind}:${digest(subject)}`

const recentTimes = (row: RateRow | undefined, { windowMs }: RateLimit, at: number): readonly number[] =>
  row?.times.filter((time) => time > at - windowMs && !isAhead(time, at)) ?? []
