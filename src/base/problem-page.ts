/** What happened and what did not, then its usual causes, and what fixes it. */
export type ProblemPage = readonly [meaning: string, ...PageLine[]]

/** A line of a page. Backticks mark code. */
type PageLine = `cause: ${string}` | `fix: ${string}`

/** The pages of the errors that a group declares, which are loaded when they are first read. */
export type ProblemPages<Declared> = Readonly<Record<keyof Declared, ProblemPage>>
