import type { ProblemCode } from '../../../base/problem.js'

/**
 * What an explanation says of a code, with places for its facts: see `facts/filled-text.ts`. What needs an unknown fact
 * is left out.
 */
export type DeclaredSentences = Readonly<Partial<Record<ProblemCode, string | readonly string[]>>>
