/** From `start` until before `end`, in Unix milliseconds. */
export interface BillingPeriod {
  readonly start: number
  readonly end: number
}

/**
 * The month with that number, from 0, of those that began at `anchor`. Each begins on the anchor's day and time in UTC, or on the last
 * day of a month that has no such day: 31 January, 28 February, 31 March.
 */
export const periodOf = (anchor: number, index: number): BillingPeriod => ({
  start: monthsAfter(anchor, index),
  end: monthsAfter(anchor, index + 1),
})

function monthsAfter(anchor: number, months: number): number {
  const from = new Date(anchor)
  const month = from.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), month + 1, 0)).getUTCDate()
  const timeOfDay = anchor - Date.UTC(from.getUTCFullYear(), from.getUTCMonth(), from.getUTCDate())
  return Date.UTC(from.getUTCFullYear(), month, Math.min(from.getUTCDate(), lastDay)) + timeOfDay
}

/** The month of the calendar, in UTC. */
export function calendarMonth(at: number): BillingPeriod {
  const date = new Date(at)
  return periodOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()), 0)
}

/** What a change of plan costs for the rest of a period, in cents: `charge` less `credit` is `total`. */
export interface Proration {
  /** For the new plan. */
  readonly charge: bigint
  /** For the old one. */
  readonly credit: bigint
  readonly total: bigint
}

/**
 * The rest of a period under a dearer plan in place of a cheaper one, in cents. The difference in price is rounded half up, once: that is
 * the total. The new plan's share is rounded so as well, and the credit is what parts the two, so that they add up to the cent.
 * Each is at least zero, and at most the price that it is a share of.
 */
export function prorate(
  { from, to }: { from: bigint; to: bigint },
  { start, end }: BillingPeriod,
  at: number,
): Proration {
  const rest = { of: BigInt(end - start), left: BigInt(end - Math.min(Math.max(at, start), end)) }
  const charge = share(to, rest)
  const total = share(to - from, rest)
  return { charge, credit: charge - total, total }
}

/** Rounded half up. */
const share = (price: bigint, { of, left }: { of: bigint; left: bigint }): bigint =>
  (price * left * 2n + of) / (of * 2n)

/** `2031-05-01`, in UTC. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
