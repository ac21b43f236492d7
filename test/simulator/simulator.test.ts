import { expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { howMuch } from '../support/how-much.js'
import { beginning } from './begin.js'
import { planOf } from './plan.js'
import { describeFailure, describeRun, keepResults, Run } from './report.js'
import { runPlan } from './run.js'
import { shrink } from './shrink.js'

/** `npm run simulate` says how many, and `.ci/run` wants enough of them; `npm test` runs these. */
const SEEDS = Number(process.env.FARTHING_SIMULATOR_SEEDS ?? 50)
const FIRST = Number(process.env.FARTHING_SIMULATOR_SEED ?? 1)
/** The numbers of the steps of a smaller run, which a failure printed. */
const STEPS = process.env.FARTHING_SIMULATOR_STEPS?.split(',').map(Number)
/** How many smaller plans are tried when one fails. */
const SHRINK = Number(process.env.FARTHING_SIMULATOR_SHRINK ?? 100)
/** A run of so many seeds sees everything that must happen. */
const ENOUGH = 200

test('the same seed gives the same run', { timeout: 300_000 }, async () => {
  for (const seed of howMuch([FIRST], [FIRST, FIRST + 1])) {
    const [one, other] = [
      await runPlan(planOf(seed), await beginning()),
      await runPlan(planOf(seed), await beginning()),
    ]
    expect(other.history).toEqual(one.history)
    expect(other.digest).toBe(one.digest)
  }
})

test(
  `the service keeps its promises in ${SEEDS} simulated runs, whatever fails`,
  async () => {
    const begun = await beginning()
    const run = new Run()
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const whole = planOf(seed)
      const plan = STEPS ? { ...whole, steps: whole.steps.filter(({ number }) => STEPS.includes(number)) } : whole
      const outcome = await runPlan(plan, begun)
      if (outcome.failure) expect.fail(describeFailure(await shrink(plan, outcome, begun, SHRINK)))
      run.add(outcome)
    }
    process.stdout.write(describeRun(run))
    keepResults(run)
    if (SEEDS < ENOUGH) return
    expect(run.sightings.missing()).toEqual([])
    expect(run.uncalled(routeList.map(({ id }) => id)), 'someone calls each operation').toEqual([])
    // Some controls need a journal, or work that has failed for days.
    const forPeople = routeList.filter(({ path }) => !path.startsWith('/_sandbox')).map(({ id }) => id)
    expect(run.unsuccessful(forPeople), 'each operation succeeds for someone').toEqual([])
  },
  300_000 + SEEDS * 2000,
)
