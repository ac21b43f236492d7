/** How an operation is known: the interface's description shows it, existing clients rely on it, or we designed it. */
export type Evidence = 'documented' | 'observed' | 'designed'

/** From strongest to weakest. */
export const evidenceGrades = ['documented', 'observed', 'designed'] as const satisfies readonly Evidence[]

/** Whether `grade` is weaker than `least`. */
export const isWeaker = (grade: Evidence, least: Evidence): boolean =>
  evidenceGrades.indexOf(grade) > evidenceGrades.indexOf(least)
