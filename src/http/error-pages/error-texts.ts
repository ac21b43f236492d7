import { type ProblemCode, textLines } from '../../base/problem.js'
import { moneyPages } from './pages/money.js'
import { peoplePages } from './pages/people.js'
import { requestPages } from './pages/requests.js'

/** What happened and what did not, then a line for each of its usual causes, and of what fixes it. ‹ and › enclose code. */
type Page = `${string}\n    ${'cause' | 'fix'}: ${string}`

const pages: Readonly<Record<ProblemCode, Page>> = { ...requestPages, ...peoplePages, ...moneyPages }

/** What the page of a code says, from the most to the least likely cause. */
export function errorText(code: ProblemCode) {
  const lines = textLines(pages[code]).map((line) => /^(?:(cause|fix): )?(.*)$/.exec(line))
  const of = (kind?: string) => lines.flatMap((line) => (line?.[2] && line[1] === kind ? line[2] : []))
  return { meaning: of().join('\n'), causes: of('cause'), fixes: of('fix') }
}
