import { DAY } from '../../storage/retention.js'
import type { Writer } from '../../storage/storage.js'
import { setTimer, timers } from '../schedule/timer.js'

/** Kind of the timer that sweeps. Its subject is a `SweepProgress` as JSON, or empty for the first sweep. */
export const SWEEP = 'sweep'

/** In milliseconds. */
export const HOUR = 3_600_000

/** Plans a sweep if none is planned, or only one in the far future of a clock that was corrected. */
export async function ensureSweep(tx: Writer, at: number): Promise<void> {
  const [planned] = await tx.find(timers, { index: 'byKind', prefix: [SWEEP], limit: 1 })
  const due = planned?.due_at ?? Number.POSITIVE_INFINITY
  if (due <= at + 2 * DAY) return
  if (planned) tx.remove(timers, planned.id)
  await setTimer(tx, { kind: SWEEP, subject: '', at: at + HOUR, now: at })
}
