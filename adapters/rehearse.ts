export type { ClientHabit, Verdict, VerdictName } from '../src/sandbox/rehearse/judge.js'
export type { FaultPlan, PlannedFault, RehearsedFault } from '../src/sandbox/rehearse/plan.js'
export type { RunRecord } from '../src/sandbox/rehearse/record.js'
export {
  type RehearsableService,
  type RehearseOptions,
  type RunTools,
  rehearse,
} from '../src/sandbox/rehearse/rehearse.js'
export {
  type Finding,
  type Rehearsal,
  RehearsalRefused,
  rehearseOn,
  type Stage,
  type StageOptions,
} from '../src/sandbox/rehearse/rehearse-stage.js'
export { showRehearsal } from '../src/sandbox/rehearse/report.js'
export { rehearsalHtml, rehearsalJson, rehearsalJUnit } from '../src/sandbox/rehearse/report-files.js'
