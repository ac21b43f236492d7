import { collections } from './collections.js'
import { features } from './features.js'
import { SWEEP } from './jobs/retention/sweep-timer.js'
import type { TimerJobs } from './jobs/schedule/run.js'

/** What loads the job of each kind of timer, when one is due. */
export const timerJobs: TimerJobs = Object.assign(
  { [SWEEP]: async () => (await import('./jobs/retention/sweep.js')).sweepOver(collections) },
  ...features.map(({ timers }) => timers),
)
