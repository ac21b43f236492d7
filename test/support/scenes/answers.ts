import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject } from 'vitest'

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
export const statusOf = (status: number | ''): string => `status ${status}`

/** Stands in for a runtime, for services that tests create themselves. */
export const NO_RUNTIME = 'no runtime'

const seen = new Set<string>()

/** Writes down, for `unanswered.ts`, that an answer of the table was seen, and in which runtime of the contract. */
export function recordAnswer(answer: string, runtime = NO_RUNTIME): void {
  const line = `${runtime}\t${answer}\n`
  if (seen.has(line)) return
  const folder = inject('answersFolder')
  if (folder === undefined) return
  seen.add(line)
  appendFileSync(join(folder, `${process.pid}.txt`), line)
}

const calls = new Set<string>()

/** Writes down, for the trust page, that the current test saw an answer of an operation. */
export function recordCall(id: string): void {
  const file = process.env.FARTHING_TRUST_CALLS
  if (file === undefined) return
  const { testPath = '', currentTestName = '' } = expect.getState()
  const line = `${id}\t${testPath}\t${currentTestName.replace(/\s+/g, ' ')}\n`
  if (calls.has(line)) return
  calls.add(line)
  appendFileSync(file, line)
}
