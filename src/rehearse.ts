export type { ClientHabit, Verdict, VerdictName } from './sandbox/rehearse/judge.js'
export type { FaultPlan, PlannedFault, RehearsedFault } from './sandbox/rehearse/plan.js'
export type { RunRecord } from './sandbox/rehearse/record.js'
export {
  type RehearsableService,
  type RehearseOptions,
  type RunTools,
  rehearse,
} from './sandbox/rehearse/rehearse.js'
export {
  type Rehearsal,
  type RehearsalFinding,
  type RehearsalOptions,
  RehearsalRefused,
  type RehearsalStage,
  rehearseOn,
} from './sandbox/rehearse/rehearse-stage.js'
export { rehearsalHtml, rehearsalJson, rehearsalJUnit, showRehearsal } from './sandbox/rehearse/report.js'
