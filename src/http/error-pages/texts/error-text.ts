import type { ProblemCode } from '../../../base/problem.js'

/** What someone who gets an error wants to know. Backticks mark code. */
export interface ErrorText {
  /** What happened, and what did not. */
  readonly meaning: string
  /** From the most to the least likely: one to four. */
  readonly causes: readonly [string, ...string[]]
  /** The calls, fields and options that help: one to four. */
  readonly fixes: readonly [string, ...string[]]
}

/** The texts of one area. */
export type ErrorTexts = Readonly<Partial<Record<ProblemCode, ErrorText>>>
