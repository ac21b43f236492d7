import { agentsPages } from '../../agents/problem-pages.js'
import type { ProblemCode } from '../../base/problem.js'
import { textLines } from '../../base/problem-fields.js'
import { oidcPages } from '../../consent/oidc/problem-pages.js'
import { consentPages } from '../../consent/problem-pages.js'
import { identityPages } from '../../identity/problem-pages.js'
import { jobsPages } from '../../jobs/problem-pages.js'
import { marketPages } from '../../market/problem-pages.js'
import { moneyPages } from '../../money/problem-pages.js'
import { paymentsPages } from '../../payments/problem-pages.js'
import { sandboxPages } from '../../sandbox/problem-pages.js'
import { storagePages } from '../../storage/problem-pages.js'
import { httpPages } from '../problem-pages.js'

const pages: Readonly<Record<ProblemCode, string>> = {
  ...storagePages,
  ...httpPages,
  ...jobsPages,
  ...moneyPages,
  ...identityPages,
  ...consentPages,
  ...oidcPages,
  ...paymentsPages,
  ...marketPages,
  ...agentsPages,
  ...sandboxPages,
}

/** What the page of a code says, from the most to the least likely cause. */
export function errorText(code: ProblemCode) {
  const lines = textLines(pages[code]).map((line) => /^(?:(cause|fix): )?(.*)$/.exec(line))
  const of = (kind?: string) => lines.flatMap((line) => (line?.[2] && line[1] === kind ? line[2] : []))
  return { meaning: of().join('\n'), causes: of('cause'), fixes: of('fix') }
}
