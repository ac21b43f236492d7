import { required } from '../../base/required.js'
import { type ClientHabit, isSameRun, isWorse, judgeRun, type Verdict, type VerdictName } from './judge.js'
import {
  type FaultPlan,
  followingPlans,
  keyOfPlan,
  type PlannedFault,
  pairPlans,
  type RehearsedFault,
  singlePlans,
} from './plan.js'
import type { RunRecord } from './record.js'

/** Where an application runs: before a sandbox, or before a proxy. */
export interface RehearsalStage {
  /** Runs the application once with these faults. Each run begins in the same state. */
  run(plan: FaultPlan): Promise<RunRecord>
  /** Faults that its service does not know. */
  readonly without?: readonly RehearsedFault[]
}

export interface RehearsalOptions {
  /** How many runs at most, with the one without faults. Default: 60. */
  readonly runs?: number | undefined
  /** How many milliseconds at most. A run that has begun ends. Default: no limit. */
  readonly ms?: number | undefined
  /** Chooses the same pairs of faults each time. Default: 1. */
  readonly randomSeed?: number | undefined
  /** Whether the application remembers its keys, so that it may be stopped after a payment and started again. */
  readonly restart?: boolean | undefined
  /** Milliseconds that only grow. Needed for `ms`. */
  readonly now?: (() => number) | undefined
  /** Called after each run. */
  readonly onRun?:
    | ((progress: { readonly runs: number; readonly of: number; readonly findings: number }) => void)
    | undefined
  /** Called with what is known so far, each time a run is judged. */
  readonly onJudged?: ((soFar: Rehearsal) => void) | undefined
}

/** Something that the client does wrong, and the fewest faults that show it. */
export interface RehearsalFinding extends Verdict {
  readonly plan: FaultPlan
  /** The run that shows it. */
  readonly run: RunRecord
}

export interface Rehearsal {
  readonly isOk: boolean
  readonly findings: readonly RehearsalFinding[]
  /** Each call with each fault that it can meet. */
  readonly cells: readonly RehearsedCell[]
  readonly runs: number
  /** How many plans there were: more than `runs` if the budget ended it. */
  readonly plans: number
  readonly randomSeed: number
  readonly baseline: RunRecord
}

/** A run without faults that fails, or pays nothing, has nothing to rehearse. */
export class RehearsalRefused extends Error {
  override readonly name = 'RehearsalRefused'
}

/** Rehearses what runs on a stage. Throws `RehearsalRefused`. */
export async function rehearseOn(stage: RehearsalStage, options: RehearsalOptions = {}): Promise<Rehearsal> {
  const rehearsing = new Rehearsing(stage, options)
  await rehearsing.begin()
  await rehearsing.runAll()
  return rehearsing.result()
}

class Rehearsing {
  readonly #runs = new Map<string, RunRecord>()
  readonly #found = new Map<string, RehearsalFinding>()
  readonly #judged = new Map<string, JudgedPlan>()
  readonly #began: number
  #singles: FaultPlan[] = []
  #pairs: FaultPlan[] = []
  #baseline: RunRecord | undefined

  constructor(
    readonly stage: RehearsalStage,
    readonly options: RehearsalOptions,
  ) {
    this.#began = options.now?.() ?? 0
  }

  async begin(): Promise<void> {
    const baseline = await this.#run([])
    if (!baseline.ended.isOk)
      throw new RehearsalRefused(`It fails without faults: ${baseline.ended.failure ?? 'no reason is known'}`)
    if (baseline.payments.length === 0) throw new RehearsalRefused('It makes no call that pays.')
    this.#baseline = baseline
    this.#singles = singlePlans(baseline, this.#planOptions)
    this.#pairs = pairPlans(this.#singles, this.#randomSeed)
    await this.#judge([], baseline)
  }

  async runAll(): Promise<void> {
    await this.#runEach(this.#singles)
    const runs = this.#singles.flatMap((plan) => {
      const run = this.#runs.get(keyOfPlan(plan))
      return run ? [{ plan, run }] : []
    })
    const baseline = required(this.#baseline, 'the run without faults')
    const waited = new Set(runs.filter((each) => waitsForSlow(each, baseline)).map(({ plan }) => plan))
    const following = followingPlans(runs, baseline, this.#planOptions)
    const noticed = this.#singles.filter((plan) => !waited.has(plan))
    this.#pairs = [...following, ...pairPlans(noticed, this.#randomSeed)]
    await this.#runEach(this.#pairs)
  }

  async #runEach(plans: readonly FaultPlan[]): Promise<void> {
    for (const plan of plans) {
      if (this.#isOver()) return
      await this.#judge(plan, await this.#run(plan))
    }
  }

  get #planOptions() {
    return { restart: this.options.restart ?? false, without: this.stage.without }
  }

  result(): Rehearsal {
    const baseline = required(this.#baseline, 'the run without faults')
    const findings = [...this.#found.values()]
    const randomSeed = this.#randomSeed
    return {
      ...{ isOk: findings.length === 0, findings, runs: this.#runs.size, plans: this.#planCount },
      ...{ randomSeed, baseline, cells: cellsOf(this.#singles, this.#judged) },
    }
  }

  get #planCount(): number {
    return 1 + this.#singles.length + this.#pairs.length
  }

  get #randomSeed(): number {
    return this.options.randomSeed ?? 1
  }

  #isOver(): boolean {
    const { runs = 60, ms = Number.POSITIVE_INFINITY, now } = this.options
    return this.#runs.size >= runs || (now?.() ?? 0) - this.#began >= ms
  }

  /** What comes of a habit later, and is not as bad, tells nothing new. */
  #hasWorse(verdict: Verdict): boolean {
    const same = [...this.#found.values()].filter(
      ({ habit, operation }) => habit === verdict.habit && operation === verdict.operation,
    )
    return same.some((each) => isWorse(each, verdict))
  }

  async #run(plan: FaultPlan): Promise<RunRecord> {
    const known = this.#runs.get(keyOfPlan(plan))
    if (known) return known
    const run = await this.stage.run(plan)
    this.#runs.set(keyOfPlan(plan), run)
    const { runs: of = 60, onRun } = this.options
    onRun?.({ runs: this.#runs.size, of: Math.min(of, this.#planCount), findings: this.#found.size })
    return run
  }

  async #judge(plan: FaultPlan, run: RunRecord): Promise<void> {
    const baseline = this.#baseline ?? run
    const verdicts = judgeRun(run, baseline)
    this.#judged.set(keyOfPlan(plan), { verdicts, run })
    for (const verdict of verdicts) {
      const key = `${verdict.name} ${verdict.habit} ${verdict.operation}`
      if (this.#found.has(key) || this.#hasWorse(verdict)) continue
      const shows = async (smaller: FaultPlan) => {
        const isKnown = this.#runs.has(keyOfPlan(smaller))
        if (!isKnown && this.#isOver()) return false
        return judgeRun(await this.#run(smaller), baseline).some((each) => isSame(each, verdict))
      }
      const smallest = await shrinkPlan(plan, shows)
      const shown = await this.#run(smallest)
      const found = judgeRun(shown, baseline).find((each) => isSame(each, verdict)) ?? verdict
      this.#found.set(key, { ...found, plan: smallest, run: shown })
    }
    this.options.onJudged?.(this.result())
  }
}

/** Whether a client waits for an answer however late it is. Then it notices no more of it together with other faults. */
const waitsForSlow = ({ plan, run }: { readonly plan: FaultPlan; readonly run: RunRecord }, baseline: RunRecord) =>
  plan.every(({ kind }) => kind === 'slow') && isSameRun(run, baseline)

interface Named {
  readonly name: VerdictName
  readonly habit: ClientHabit
  readonly operation: string
}

const isSame = (one: Named, other: Named): boolean =>
  one.name === other.name && one.habit === other.habit && one.operation === other.operation

/** What a rehearsal learned of a plan. */
interface JudgedPlan {
  readonly verdicts: readonly Verdict[]
  readonly run: RunRecord
}

/** One call with one fault. `waiting`: it was not run yet, or the budget ended before it. */
export interface RehearsedCell extends PlannedFault {
  readonly state: 'waiting' | 'passed' | 'failed'
  /** Undefined while it waits. */
  readonly judged: JudgedPlan | undefined
}

const cellsOf = (plans: readonly FaultPlan[], judged: ReadonlyMap<string, JudgedPlan>): RehearsedCell[] =>
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

/** Leaves faults out of a plan as long as what it shows still happens. `shows` runs a plan, or knows its result. */
async function shrinkPlan(plan: FaultPlan, shows: (plan: FaultPlan) => Promise<boolean>): Promise<FaultPlan> {
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
