/** How an operation is known: shown in the interface's description, relied on by existing clients, or our own design. */
export type Evidence = 'documented' | 'observed' | 'designed'

/** From strongest to weakest. */
export const evidenceGrades = ['documented', 'observed', 'designed'] as const satisfies readonly Evidence[]

/** True when `grade` is weaker than the least that is asked for. */
export const isWeaker = (grade: Evidence, least: Evidence): boolean =>
  evidenceGrades.indexOf(grade) > evidenceGrades.indexOf(least)
