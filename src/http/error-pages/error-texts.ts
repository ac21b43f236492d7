import { agentsPages } from '../../agents/problem-pages.js'
import type { ProblemCode } from '../../base/problem.js'
import type { ProblemPage } from '../../base/problem-page.js'
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

const pages: Readonly<Record<ProblemCode, ProblemPage>> = {
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
  const [meaning, ...lines] = pages[code]
  const of = (kind: string) => lines.flatMap((line) => (line.startsWith(kind) ? [line.slice(kind.length)] : []))
  return { meaning, causes: of('cause: '), fixes: of('fix: ') }
}
