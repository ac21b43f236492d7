import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type PlanLimits, plans } from './plan.js'
import { type SubscriptionRow, subscriptionOf, usagePeriod } from './subscription.js'

/** How many calls an account's MCP server sold in the period counted last. */
export interface McpUsageRow {
  /** The account's id. */
  readonly id: number
  readonly period_start: number
  readonly calls: number
}

export const mcpUsages = collection<McpUsageRow>()(
  'mcp_usages',
  {},
  { growth: { by: 'an agent', bound: 'One for each account.' }, retention: { forever: 'One for each account.' } },
)

/** Throws `plan_limit_reached` if an account cannot have one more active item. `count` counts its active items. */
export async function checkItemLimit(tx: Reader, accountId: number, count: () => Promise<number>): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const limit = plans[subscription.plan].limits.active_items
  if (limit === null) return
  const used = await count()
  if (used < limit) return
  const detail = `allows ${limit} active catalog items. Deactivate or archive one, or`
  throw limitReached(subscription, 'active_items', { limit, used, detail })
}

/** Counts a call that an account's MCP server sells. Throws `plan_limit_reached`, and then does not count the call. */
export async function countMcpCall(tx: Writer, accountId: number, at: number): Promise<void> {
  const subscription = await subscriptionOf(tx, accountId)
  const { start, end } = usagePeriod(subscription, at)
  const used = await callsSince(tx, accountId, start)
  const limit = plans[subscription.plan].limits.mcp_calls
  if (limit !== null && used >= limit) {
    const until = new Date(end).toISOString()
    const detail = `allows ${limit} MCP calls a month. Wait until ${until}, or`
    throw limitReached(subscription, 'mcp_calls', { limit, used, detail, resets_at: seconds(end) })
  }
  tx.put(mcpUsages, { id: accountId, period_start: start, calls: used + 1 })
}

export async function callsSince(tx: Reader, accountId: number, start: number): Promise<number> {
  const usage = await tx.get(mcpUsages, accountId)
  return usage?.period_start === start ? usage.calls : 0
}

function limitReached(
  { plan }: SubscriptionRow,
  of: keyof PlanLimits,
  { detail, ...counts }: { detail: string; limit: number; used: number; resets_at?: number },
) {
  return problem('plan_limit_reached', {
    detail: `The ${plans[plan].name} plan ${detail} change the plan at PUT /v4/billing/plan.`,
    fields: { of, plan, ...counts },
  })
}
