import { strictComponent, z } from '../../http/fields/schema.js'

const MOST_TEXT = 20_000
const Text = z.string().check(z.maxLength(MOST_TEXT))
const Name = z.string().check(z.maxLength(100))
const Count = z.int().check(z.minimum(0))

const FaultOfPlan = z.strictObject({ kind: Name, operation: Name, nth: Count })

/** The report of `farthing rehearse --json`, which may still grow. */
export const RehearsalReportShape = strictComponent('RehearsalReport', {
  command: z.optional(Text),
  /** Whether runs go on. */
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

export type RehearsalReport = z.output<typeof RehearsalReportShape>
