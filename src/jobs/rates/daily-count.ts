import { problem } from '../../base/problem.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Writer } from '../../storage/storage.js'

/** How many things of one kind somebody has created today. The id is `kind:subject`. */
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

/** Counts one new thing. Throws `too_many_new`, with `Retry-After`, if the subject has created `most` today. */
export async function countDaily(tx: Writer, { kind, subject, most, at }: DailyLimit): Promise<void> {
  const id = `${kind}:${subject}`
  const stored = await tx.get(dailyCounts, id)
  // A day that ends later than one from now began while the clock was ahead.
  const today = stored && stored.until > at && stored.until <= at + DAY ? stored : { id, count: 0, until: at + DAY }
  if (today.count >= most) {
    const seconds = Math.max(1, Math.ceil((today.until - at) / 1000))
    throw problem('too_many_new', {
      detail: `The limit is ${most} ${kind.replaceAll('_', ' ')} a day (\`limits.newPerDay\`). Try again in ${seconds} seconds.`,
      fields: { of: kind, limit: most },
      headers: { 'retry-after': String(seconds) },
    })
  }
  tx.put(dailyCounts, { ...today, count: today.count + 1 })
}
