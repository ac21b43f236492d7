import { toAmount } from '../../money/ledger/amount.js'

/** What an account may use, each counted apart; null is without limit. */
export interface PlanLimits {
  readonly active_items: number | null
  readonly mcp_calls: number | null
}

/** What an account pays for its own use of the platform. From the least to the most. */
export const PLAN_IDS = ['free', 'growth', 'scale'] as const
export type PlanId = (typeof PLAN_IDS)[number]

export interface Plan {
  readonly id: PlanId
  readonly name: string
  /** In cents, for each month. */
  readonly price: bigint
  readonly limits: PlanLimits
}

export const plans: Readonly<Record<PlanId, Plan>> = {
  free: { id: 'free', name: 'Free', price: 0n, limits: { active_items: 25, mcp_calls: 1_000 } },
  growth: { id: 'growth', name: 'Growth', price: 2_900n, limits: { active_items: 500, mcp_calls: 50_000 } },
  scale: { id: 'scale', name: 'Scale', price: 19_900n, limits: { active_items: null, mcp_calls: 1_000_000 } },
}

/** Whether a plan is more than another. */
export const isUpgrade = (from: PlanId, to: PlanId): boolean => PLAN_IDS.indexOf(to) > PLAN_IDS.indexOf(from)

/** Platforms bill in US dollars: a count of cents as the JSON number of dollars. */
export const toDollars = (cents: bigint | string): number => toAmount(cents, 2)

/** Prices are in dollars. */
export const showPlans = () => ({
  plans: PLAN_IDS.map((id) => {
    const { name, price, limits } = plans[id]
    return { id, name, price: toDollars(price), currency: 'USD', interval: 'month' as const, limits }
  }),
})
