import type { FaultPlan } from './plan.js'

/** Leaves faults out of a plan as long as what it shows still happens. `shows` runs a plan, or knows its result. */
export async function shrinkPlan(plan: FaultPlan, shows: (plan: FaultPlan) => Promise<boolean>): Promise<FaultPlan> {
  let smallest = plan
  for (let at = 0; at < smallest.length && smallest.length > 0; ) {
    const smaller = smallest.filter((_, place) => place !== at)
    if (await shows(smaller)) {
      smallest = smaller
      at = 0
    } else at++
  }
  return smallest
}
