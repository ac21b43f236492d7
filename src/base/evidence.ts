/**
 * How an operation or a field is known. `documented`: the interface's description shows it. `observed`: an existing
 * client or a public reference of the live service shows it. `named`: the description names it without its body or
 * answer, which are our design. `designed`: it is our own design, and the live service may differ.
 */
export type Evidence = 'documented' | 'observed' | 'named' | 'designed'

/** From strongest to weakest. */
export const evidenceGrades = ['documented', 'observed', 'named', 'designed'] as const satisfies readonly Evidence[]

/** Whether `grade` is weaker than `least`. */
export const isWeaker = (grade: Evidence, least: Evidence): boolean =>
  evidenceGrades.indexOf(grade) > evidenceGrades.indexOf(least)
