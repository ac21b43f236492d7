import { strictComponent, z } from '../../http/fields/schema.js'

/** A finding of a rehearsal. */
export interface ReportedFinding {
  readonly verdict: string
  readonly habit: string
  readonly operation: string
  readonly sureness: string
  readonly calls: number
  readonly payments: number
  readonly delivered: number
  readonly plan: readonly { readonly kind: string; readonly operation: string; readonly nth: number }[]
  readonly title: string
  readonly sentence: string
  readonly diagram: string
  readonly repeat: string
}

/** One call of a rehearsal with one fault. */
export interface ReportedCell {
  readonly kind: string
  readonly operation: string
  /** Counted from 1. */
  readonly nth: number
  readonly state: 'waiting' | 'passed' | 'failed'
  readonly diagram: string
  readonly stories: readonly Pick<ReportedFinding, 'verdict' | 'habit' | 'operation' | 'title' | 'sentence'>[]
}

/** The report of `farthing rehearse --json`, which may still grow. */
export interface RehearsalReport {
  readonly command?: string | undefined
  /** The options that repeat it, besides the seed and the budget: `--slow`, `50`, `--restart`. */
  readonly flags?: readonly string[] | undefined
  /** Whether runs go on. */
  readonly running?: boolean | undefined
  readonly ok: boolean
  readonly runs: number
  readonly plans: number
  readonly random_seed: number
  readonly findings: readonly ReportedFinding[]
  readonly cells: readonly ReportedCell[]
}

const MOST_TEXT = 20_000
const Text = z.string().check(z.maxLength(MOST_TEXT))
const Name = z.string().check(z.maxLength(100))
const Count = z.int().check(z.minimum(0))

const FaultOfPlan = z.strictObject({ kind: Name, operation: Name, nth: Count })

/** The same, checked. */
export const RehearsalReportShape = strictComponent('RehearsalReport', {
  command: z.optional(Text),
  flags: z.optional(z.array(Text).check(z.maxLength(20))),
  running: z.optional(z.boolean()),
  ...{ ok: z.boolean(), runs: Count, plans: Count, random_seed: Count },
  findings: z
    .array(
      z.strictObject({
        ...{ verdict: Name, habit: Name, operation: Name, sureness: Name },
        ...{ calls: Count, payments: Count, delivered: Count },
        plan: z.array(FaultOfPlan).check(z.maxLength(10)),
        ...{ title: Text, sentence: Text, diagram: Text, repeat: Text },
      }),
    )
    .check(z.maxLength(200)),
  cells: z
    .array(
      z.strictObject({
        ...{ kind: Name, operation: Name, nth: Count },
        state: z.enum(['waiting', 'passed', 'failed']),
        diagram: Text,
        stories: z
          .array(z.strictObject({ verdict: Name, habit: Name, operation: Name, title: Text, sentence: Text }))
          .check(z.maxLength(20)),
      }),
    )
    .check(z.maxLength(1000)),
})
