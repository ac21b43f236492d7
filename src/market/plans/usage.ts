import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type PlanLimits, plans } from './plan.js'
import { type SubscriptionRow, subscriptionOf, usagePeriod } from './subscription.js'

/** How many calls an account's MCP server sold, in the period that it counts last. */
export interface McpUsageRow {
  /** The account's. */
  readonly id: number
  readonly period_start: number
  readonly calls: number
}

export const mcpUsages = collection<McpUsageRow>()('mcp_usages', {})

/**
 * Call it before one more of an account's items becomes active; `count` counts those that are. What is active when a plan ends
 * stays so. Throws `plan_limit_reached`.
 */
export async function checkItemLimit(tx: Reader, accountId: number, count: () => Promise<number>): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const limit = plans[subscription.plan].limits.active_items
  if (limit === null) return
  const used = await count()
  if (used < limit) return
  const detail = `takes ${limit} active catalog items: deactivate or archive one, or`
  throw reached(subscription, 'active_items', { limit, used, detail })
}

/** Counts a call by which an account's MCP server sells, at that time. Throws `plan_limit_reached`: then it is not counted. */
export async function countMcpCall(tx: Writer, accountId: number, at: number): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const { start, end } = usagePeriod(subscription, at)
  const used = await callsSince(tx, accountId, start)
  const limit = plans[subscription.plan].limits.mcp_calls
  if (limit !== null && used >= limit) {
    const until = new Date(end).toISOString()
    const detail = `takes ${limit} MCP calls a month, and the next begins at ${until}: wait, or`
    throw reached(subscription, 'mcp_calls', { limit, used, detail, resets_at: seconds(end) })
  }
  tx.put(mcpUsages, { id: accountId, period_start: start, calls: used + 1 })
}

/** The calls counted in the period that began then. */
export async function callsSince(tx: Reader, accountId: number, start: number): Promise<number> {
  const usage = await tx.get(mcpUsages, accountId)
  return usage?.period_start === start ? usage.calls : 0
}

function reached(
  { plan }: SubscriptionRow,
  of: keyof PlanLimits,
  { detail, ...counts }: { detail: string; limit: number; used: number; resets_at?: number },
) {
  return problem('plan_limit_reached', {
    detail: `The ${plans[plan].name} plan ${detail} change the plan at PUT /v4/billing/plan.`,
    fields: { of, plan, ...counts },
  })
}
