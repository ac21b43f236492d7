import type { Verdict } from './judge.js'
import { type FaultPlan, keyOfPlan, type PlannedFault } from './plan.js'
import type { RunRecord } from './record.js'

/** What a rehearsal learned of a plan. */
export interface JudgedPlan {
  readonly verdicts: readonly Verdict[]
  readonly run: RunRecord
}

/** One call with one fault. `waiting`: it was not run yet, or the budget ended before it. */
export interface RehearsedCell extends PlannedFault {
  readonly state: 'waiting' | 'passed' | 'failed'
  /** Undefined while it waits. */
  readonly judged: JudgedPlan | undefined
}

export const cellsOf = (plans: readonly FaultPlan[], judged: ReadonlyMap<string, JudgedPlan>): RehearsedCell[] =>
  plans.flatMap((plan) => {
    const [fault] = plan
    if (!fault) return []
    const known = judged.get(keyOfPlan(plan))
    return [{ ...fault, state: stateOf(known), judged: known }]
  })

const stateOf = (judged: JudgedPlan | undefined): RehearsedCell['state'] => {
  if (!judged) return 'waiting'
  return judged.verdicts.length === 0 ? 'passed' : 'failed'
}
