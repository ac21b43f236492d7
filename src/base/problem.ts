import { agentsProblems } from '../agents/problems.js'
import { oidcProblems } from '../consent/oidc/problems.js'
import { consentProblems } from '../consent/problems.js'
import { httpProblems } from '../http/problems.js'
import { identityProblems } from '../identity/problems.js'
import { jobsProblems } from '../jobs/problems.js'
import { marketProblems } from '../market/problems.js'
import { moneyProblems } from '../money/problems.js'
import { paymentsProblems } from '../payments/problems.js'
import { sandboxProblems } from '../sandbox/problems.js'
import { storageProblems } from '../storage/problems.js'
import type { Evidence } from './evidence.js'
import type { FieldName, ProblemFields } from './problem-fields.js'

/** Every error of the service, declared by the group that throws it. The body is `{error, status, code, docs}`, with more fields. */
const problems = {
  ...storageProblems,
  ...httpProblems,
  ...jobsProblems,
  ...moneyProblems,
  ...identityProblems,
  ...consentProblems,
  ...oidcProblems,
  ...paymentsProblems,
  ...marketProblems,
  ...agentsProblems,
  ...sandboxProblems,
}

type Problems = typeof problems
export type ProblemCode = keyof Problems
/** The HTTP status of a code. */
export type StatusOfCode<Code extends ProblemCode> = Problems[Code] extends `${infer Status extends number} ${string}`
  ? Status
  : never
type Words<Text> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text
type FieldNameOf<Line> = Line extends `${string} {${infer Names}}${string}` ? Words<Names> : never
/** The fields that a problem with this code may carry, and their types. */
export type FieldsOfCode<Code extends ProblemCode> = Pick<ProblemFields, FieldNameOf<Problems[Code]> & FieldName>
type FactOfCode<Code extends ProblemCode> = Problems[Code] extends `${string} [${infer Names}]` ? Words<Names> : never

/** A declaration with a field that does not exist does not compile. */
const declarations: {
  readonly [Code in ProblemCode]: FieldNameOf<Problems[Code]> extends FieldName ? string : never
} = problems

export interface ProblemExtra<Code extends ProblemCode = ProblemCode> {
  /** Added to the sentence: which field, how much, what to do. */
  detail?: string
  /** Fields of the body beside error, status and code. */
  fields?: ProblemFields
  /** What decided, for the journal of a sandbox. No answer shows it. */
  facts?: { readonly [Name in FactOfCode<Code>]?: ProblemFact }
  headers?: Record<string, string>
  cause?: unknown
}

export type ProblemFact = string | number | boolean | null | undefined | readonly string[]

/** A refusal that the caller sees. A transaction that throws one is undone; one that returns it lands what it wrote. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly fields: ProblemFields
  /** What decided, and `detail`: what the sentence adds. */
  readonly facts: Readonly<Record<string, ProblemFact>>
  readonly headers: Record<string, string>

  constructor(code: ProblemCode, { detail, fields = {}, facts, headers = {}, cause }: ProblemExtra = {}) {
    const sentence = problemSentence(code)
    super(detail ? `${sentence} ${detail}` : sentence, cause === undefined ? undefined : { cause })
    this.name = 'Problem'
    this.code = code
    this.status = problemStatus(code)
    this.fields = fields
    this.facts = { ...facts, ...(detail && { detail }) }
    this.headers = headers
  }

  /** The JSON body with the code (Micro Payment Service Interface, section 7). */
  get body(): { error: string; status: number; code: ProblemCode } {
    return { ...this.fields, error: this.message, status: this.status, code: this.code }
  }

  /** The body with `docs`, the address of the page that explains the code. */
  bodyAt(service: ServiceAddress): { error: string; status: number; code: ProblemCode; docs: string } {
    return { ...this.body, docs: docsOf(this.code, service) }
  }
}

interface ServiceAddress {
  readonly baseUrl: string
}

/** The address of the page that explains a code. Without one: of the list of all codes. */
export const docsOf = (code: ProblemCode | undefined, { baseUrl }: ServiceAddress): string =>
  code === undefined ? `${baseUrl}/docs/errors` : `${baseUrl}/docs/errors/${code}`

export const problem = <Code extends ProblemCode>(code: Code, extra?: ProblemExtra<Code>): Problem =>
  new Problem(code, extra)

/** What a step returns, or the problem that it throws. */
export const problemOr = <T>(step: Promise<T>): Promise<T | Problem> =>
  step.catch((error: unknown) => (error instanceof Problem ? error : Promise.reject(error)))

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problems, code)

export const problemCodes = Object.keys(problems).filter(isProblemCode)

export const problemStatus = (code: ProblemCode): number => Number(declarations[code].slice(0, 3))
export const problemSentence = (code: ProblemCode): string =>
  (declarations[code].slice(4).split(/ [{[]/)[0] ?? '').replace(/[‹›]/g, '`')
/** The fields that a problem with this code may add to its body. */
export function fieldsOfCode(code: ProblemCode): FieldName[] {
  const [, names] = declarations[code].split(' {')
  return (names?.split('}')[0]?.split(' ') ?? []) as FieldName[] // They are checked where they are declared.
}

const storageFailures: readonly ProblemCode[] = ['storage_unavailable', 'storage_full', 'outcome_unknown']

/** The status of a code in an evidence mode: the interface shows internal failures as 500 alone (section 7). */
export const problemStatusIn = (mode: Evidence, code: ProblemCode): number =>
  mode === 'documented' && storageFailures.includes(code) ? 500 : problemStatus(code)
