import type { ProblemDeclarations } from '../base/problem-fields.js'

export const sandboxProblems = {
  already_exists: `409 This already exists. Nothing was created.`,
  snapshot_invalid: `400 The document is not a snapshot. Nothing was changed.`,
  snapshot_newer: `422 A newer farthing wrote this snapshot. Update farthing to restore it. Nothing was changed. [schema known]`,
  snapshot_refused: `422 The snapshot is inconsistent. Nothing was changed. {collection id}`,
  rewind_refused: `409 The sandbox cannot return to this state. Nothing was changed. [shared]`,
  sandbox_full: `409 The sandbox holds as many of these as it can. Remove one first. [what most oldest]`,
  not_replayable: `422 This entry cannot be repeated. Nothing was sent. {field id} [why]`,
} as const satisfies ProblemDeclarations
