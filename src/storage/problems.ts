import type { ProblemDeclarations } from '../base/problem-fields.js'

/** What a storage cannot do, and pages of lists. */
export const storageProblems = {
  storage_unavailable: `503 The storage is unavailable. Nothing was changed. Retry later. {schema ok fault name version storage clock processes evidence}`,
  storage_full: `507 The storage has no space for this. Nothing was changed, and reads go on. Free space, or export the state and delete what you do not need. Then retry.`,
  cursor_invalid: `400 ‹after› must be an id from an earlier page of this list.`,
} as const satisfies ProblemDeclarations
