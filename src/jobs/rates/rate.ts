import { type ProblemCode, problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { isAhead } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { DAY } from '../../storage/retention.js'
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
async function freeAt(tx: Reader, limit: RateLimit, { subject, at, times = 1 }: CountedAttempt) {
  const recent = recentTimes(await tx.get(rates, idOf(limit, subject)), limit, at)
  // So many at once are more than the limit ever allows.
  if (times > limit.most) return at + limit.windowMs
  const first = recent[recent.length - limit.most + times - 1]
  return first === undefined ? undefined : first + limit.windowMs
}

/** Counts a try. A transaction that throws counts nothing, so return a failure that must count. */
export async function countRate(tx: Writer, limit: RateLimit, { subject, at, times: tries = 1 }: CountedAttempt) {
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

/** How many things of one kind, or bytes, someone has created today. The id is `kind:subject`. */
export interface DailyCountRow {
  readonly id: string
  readonly count: number
  /** When the day ends that began with the first of them, in Unix milliseconds. */
  readonly until: number
}

export const dailyCounts = collection<DailyCountRow>()(
  'daily_counts',
  { byEnd: { fields: ['until'] } },
  {
    isTally: true,
    retention: { after: 'its day is over', keepMs: 0, index: 'byEnd' },
    growth: { by: 'whoever creates something', bound: 'One for each kind, owner or client address, and day.' },
  },
)

export interface DailyLimit {
  /** The collection that grows. */
  readonly kind: string
  /** Whom the limit counts, such as `account:1`. */
  readonly subject: string
  readonly most: number
  readonly at: number
}

/** Adds to what a subject has caused today. False, and adds nothing, if that is `most` already. The last addition may exceed it. */
export async function addDaily(tx: Writer, limit: DailyLimit, amount: number): Promise<boolean> {
  const today = await todayOf(tx, limit)
  if (today.count >= limit.most) return false
  tx.put(dailyCounts, { ...today, count: today.count + amount })
  return true
}

/** In how many seconds the subject may go on, if it has caused `most` today. */
export async function waitOfDaily(tx: Reader, limit: DailyLimit): Promise<number | undefined> {
  const today = await todayOf(tx, limit)
  return today.count < limit.most ? undefined : Math.max(1, Math.ceil((today.until - limit.at) / 1000))
}

async function todayOf(tx: Reader, { kind, subject, at }: DailyLimit): Promise<DailyCountRow> {
  const id = `${kind}:${subject}`
  const stored = await tx.get(dailyCounts, id)
  // A day that ends later than one from now began while the clock was ahead.
  return stored && stored.until > at && !isAhead(stored.until - DAY, at) ? stored : { id, count: 0, until: at + DAY }
}

/** Counts one new thing. Throws `too_many_new`, with `Retry-After`, if the subject has created `most` today. */
export async function countDaily(tx: Writer, limit: DailyLimit, { sandbox }: Pick<Partial<ServiceContext>, 'sandbox'>) {
  if (await addDaily(tx, limit, 1)) return
  const { kind, most } = limit
  const seconds = (await waitOfDaily(tx, limit)) ?? 1
  throw problem('too_many_new', {
    detail: `The limit is ${most} ${kind.replaceAll('_', ' ')} a day. ${waitText(seconds, { option: 'limits.newPerDay', sandbox })}`,
    fields: { of: kind, limit: most },
    headers: { 'retry-after': String(seconds) },
  })
}

/** What ends a wait that a limit over time makes necessary. `option` names the limit, if it can be set. */
export function waitText(
  seconds: number,
  { option, sandbox }: { readonly option?: string } & Pick<Partial<ServiceContext>, 'sandbox'>,
): string {
  const more = option === undefined ? '.' : `, or raise \`${option}\`.`
  return sandbox?.clock.mode === 'manual'
    ? `The clock of this sandbox stands still. Move it on by ${seconds} seconds with POST /_sandbox/clock${more}`
    : `Try again in ${seconds} seconds${more}`
}

export const rateFeature = { collections: [rates, dailyCounts] }
