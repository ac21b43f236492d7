/**
 * The pages of the errors that a group declares, which are loaded when they are first read: what happened and what did not,
 * then a line for each of its usual causes, and of what fixes it. ‹ and › enclose code.
 */
export type ProblemPages<Declared> = Readonly<Record<keyof Declared, `${string}\n    ${'cause' | 'fix'}: ${string}`>>

/** The lines of a text, with code in backticks. */
export const textLines = (text: string): string[] => text.replace(/[‹›]/g, '`').split(/\n */)
