/** From `start` to just before `end`, in Unix milliseconds. */
export interface BillingPeriod {
  readonly start: number
  readonly end: number
}

/**
 * Returns the month number `index`, from 0, counted from `anchor`. Each month begins on the anchor's day and time in
 * UTC, or on its last day if it is too short: 31 January, 28 February, 31 March.
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

export function calendarMonth(at: number): BillingPeriod {
  const date = new Date(at)
  return periodOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()), 0)
}

/**
 * Prices the rest of a period under a more expensive plan, in cents: `charge` for the new one, `credit` for the old one.
 * `total` and `charge` are each rounded half up, and
 * `credit` is their difference, so that the three always add up. None is below zero or above its full price.
 */
export function prorate({ from, to }: { from: bigint; to: bigint }, { start, end }: BillingPeriod, at: number) {
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
