import type { Beginning } from './begin.js'
import type { Plan, Step } from './plan.js'
import { type Outcome, runPlan } from './run.js'

export interface Shrunk {
  readonly plan: Plan
  readonly outcome: Outcome
  /** How many plans were tried. */
  readonly tried: number
}

/** The property that was broken, without what broke it this time. */
const propertyOf = ({ failure }: Outcome): string | undefined => failure?.message.split(': ', 1)[0]

/** Leaves out steps of a plan that fails, first many at once, while the same property stays broken. */
export async function shrink(plan: Plan, outcome: Outcome, beginning: Beginning, most: number): Promise<Shrunk> {
  let best = { plan, outcome }
  let tried = 0
  for (let size = Math.ceil(plan.steps.length / 2); size >= 1 && tried < most; ) {
    let hasShrunk = false
    for (let start = 0; start < best.plan.steps.length && tried < most; ) {
      const steps: readonly Step[] = best.plan.steps.toSpliced(start, size)
      tried++
      const smaller = await runPlan({ ...plan, steps }, beginning)
      if (smaller.failure && propertyOf(smaller) === propertyOf(outcome)) {
        best = { plan: { ...plan, steps }, outcome: smaller }
        hasShrunk = true
      } else start += size
    }
    if (size === 1 && !hasShrunk) break
    size = size === 1 ? 1 : Math.ceil(size / 2)
  }
  return { ...best, tried }
}
