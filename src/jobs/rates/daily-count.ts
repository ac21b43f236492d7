import { problem } from '../../base/problem.js'
import { isAhead } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

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

/**
 * Adds to what a subject has caused today. False, and adds nothing, if that is `most` already. The last addition may
 * exceed it.
 */
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
export async function countDaily(
  tx: Writer,
  limit: DailyLimit,
  { sandbox }: Pick<Partial<ServiceContext>, 'sandbox'>,
): Promise<void> {
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
