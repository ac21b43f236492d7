import { toAmount } from '../../money/ledger/amount.js'

/** Limits of a plan. Null: no limit. */
export interface PlanLimits {
  readonly active_items: number | null
  readonly mcp_calls: number | null
}

/** Plans that an account can have, from the smallest to the largest. */
export const PLAN_IDS = ['free', 'growth', 'scale'] as const
export type PlanId = (typeof PLAN_IDS)[number]

/** Prices are in cents per month. */
export const plans: Readonly<Record<PlanId, { id: PlanId; name: string; price: bigint; limits: PlanLimits }>> = {
  free: { id: 'free', name: 'Free', price: 0n, limits: { active_items: 25, mcp_calls: 1_000 } },
  growth: { id: 'growth', name: 'Growth', price: 2_900n, limits: { active_items: 500, mcp_calls: 50_000 } },
  scale: { id: 'scale', name: 'Scale', price: 19_900n, limits: { active_items: null, mcp_calls: 1_000_000 } },
}

/** Whether the second plan is larger than the first. */
export const isUpgrade = (from: PlanId, to: PlanId): boolean => PLAN_IDS.indexOf(to) > PLAN_IDS.indexOf(from)

export const toDollars = (cents: bigint | string): number => toAmount(cents, 2)

/** Prices are in dollars. */
export const listPlans = () => ({
  plans: PLAN_IDS.map((id) => {
    const { name, price, limits } = plans[id]
    return { id, name, price: toDollars(price), currency: 'USD', interval: 'month' as const, limits }
  }),
})
