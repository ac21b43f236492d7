import { Problem, problem } from '../../../base/problem.js'
import { countMcpCall } from '../../../market/plans/plan.js'
import type { Admission } from '../../../market/purchases/purchase.js'
import type { McpVisit } from './visit.js'

/** Counts a sale at an account's own server. Strangers could use up the plan by reads and refusals. Throws `plan_limit_reached`. */
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

function forBuyers(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== 'plan_limit_reached') return error
  const { of, resets_at } = error.fields
  const until = new Date(Number(resets_at) * 1000).toISOString()
  return problem('plan_limit_reached', {
    detail: `This seller accepts no more calls until ${until}. Try again then.`,
    fields: { of, resets_at },
    cause: error,
  })
}
