import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where workers write down what they saw answered; absent where nobody asks. */
    answersFolder: string
  }
}

/** What the table says may be answered and a test saw: a success under a version, or an error by its code. */
export const successOf = (id: string, version: string | undefined): string =>
  `${id} success${version ? ` ${version}` : ''}`
export const errorOf = (id: string, code: string): string => `${id} ${code}`

const seen = new Set<string>()

/** Writes down, for `unanswered.ts`, that an answer of the table was seen. */
export function recordAnswer(answer: string): void {
  const folder = inject('answersFolder')
  if (folder === undefined || seen.has(answer)) return
  seen.add(answer)
  appendFileSync(join(folder, `${process.pid}.txt`), `${answer}\n`)
}
