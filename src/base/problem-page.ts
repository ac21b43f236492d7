/** What happened and what did not, then its usual causes, what fixes it, and what a sandbox finds out about it. */
export type ProblemPage = readonly [meaning: string, ...PageLine[]]

/**
 * A line of a page. Backticks mark code. A `found` line is shown with the facts of one refusal: `{name}` stands for a
 * fact, and the line is left out if that is unknown. See `src/sandbox/explain/facts/filled-text.ts`.
 */
type PageLine = `cause: ${string}` | `fix: ${string}` | `found: ${string}`

/** The pages of the errors that a group declares, which are loaded when they are first read. */
export type ProblemPages<Declared> = Readonly<Record<keyof Declared, ProblemPage>>
