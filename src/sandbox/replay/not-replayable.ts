import { type Problem, problem } from '../../base/problem.js'

/** The refusal of an entry that cannot be repeated, with the part of the entry that is the reason. */
export const notReplayable = (field: string, why: string): Problem =>
  problem('not_replayable', { detail: `\`${field}\`: ${why}`, fields: { field }, facts: { why } })
