import { toAmount } from '../../money/ledger/amount.js'

/** Null: no limit. */
export type PlanLimits = Readonly<Record<'active_items' | 'mcp_calls', number | null>>

export const PLAN_IDS = ['free', 'growth', 'scale'] as const
export type PlanId = (typeof PLAN_IDS)[number]

/** Prices are in cents per month. */
export const plans: Readonly<Record<PlanId, { id: PlanId; name: string; price: bigint; limits: PlanLimits }>> = {
  free: { id: 'free', name: 'Free', price: 0n, limits: { active_items: 25, mcp_calls: 1_000 } },
  growth: { id: 'growth', name: 'Growth', price: 2_900n, limits: { active_items: 500, mcp_calls: 50_000 } },
  scale: { id: 'scale', name: 'Scale', price: 19_900n, limits: { active_items: null, mcp_calls: 1_000_000 } },
}

export const isUpgrade = (from: PlanId, to: PlanId): boolean => PLAN_IDS.indexOf(to) > PLAN_IDS.indexOf(from)

export const toDollars = (cents: bigint | string): number => toAmount(cents, 2)

export const listPlans = () => ({
  plans: PLAN_IDS.map((id) => {
    const { name, price, limits } = plans[id]
    return { id, name, price: toDollars(price), currency: 'USD', interval: 'month' as const, limits }
  }),
})

/** From `start` to just before `end`, in Unix milliseconds. */
export interface BillingPeriod {
  readonly start: number
  readonly end: number
}

/** Month `index`, from 0: it begins on the anchor's day and time in UTC, or on the last day: 31 January, 28 February. */
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

/** Prices the rest of a period under a more expensive plan, in cents. Each is rounded half up: `charge - credit = total`. */
export function prorate({ from, to }: { from: bigint; to: bigint }, { start, end }: BillingPeriod, at: number) {
  const rest = { of: BigInt(end - start), left: BigInt(end - Math.min(Math.max(at, start), end)) }
  const charge = share(to, rest)
  const total = share(to - from, rest)
  return { charge, credit: charge - total, total }
}

const share = (price: bigint, { of, left }: { of: bigint; left: bigint }): bigint =>
  (price * left * 2n + of) / (of * 2n)

/** `2031-05-01`, in UTC. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
