import { Problem, problem } from '../../../base/problem.js'
import { countMcpCall } from '../../../market/plans/usage.js'
import type { Admission } from '../../../market/purchases/purchase.js'
import type { McpVisit } from './visit.js'

/**
 * What an account's own server sells of the account's counts as one call of its plan; what anybody looks at, or is refused,
 * does not: strangers would use the plan up. Throws `plan_limit_reached`.
 */
export function countSales({ agent, within, service }: McpVisit): Admission {
  return async (tx, quotes) => {
    if (within === undefined || !quotes.some(({ item }) => item.account_id === within)) return
    try {
      await countMcpCall(tx, within, service.clock.now())
    } catch (error) {
      throw agent.account_id === within ? error : forBuyers(error)
    }
  }
}

/** The seller's plan, and what is used of it, is the seller's to know. */
function forBuyers(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== 'plan_limit_reached') return error
  const { of, resets_at } = error.fields
  const until = new Date(Number(resets_at) * 1000).toISOString()
  return problem('plan_limit_reached', {
    detail: `This seller takes no more calls until ${until}.`,
    fields: { of, resets_at },
    cause: error,
  })
}
