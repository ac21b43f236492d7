import { routeList } from '../../../scripts/route-table.js'
import { errorsOf } from '../../../src/http/routing/errors.js'
import { isWhole } from '../how-much.js'
import { errorOf, NO_RUNTIME, statusOf, successOf } from '../scenes/answers.js'
import { excused, sharedErrors, unseenKeyErrors } from './excused.js'

/** What was answered, by runtime. */
export type Answered = ReadonlyMap<string, ReadonlySet<string>>

/** Every answer that the table promises. */
const promised: readonly string[] = routeList.flatMap((route) => [
  ...(route.versions ?? [undefined]).map((version) => successOf(route.id, version)),
  ...errorsOf(route)
    .filter((code) => !sharedErrors.includes(code) && !unseenKeyErrors[code]?.includes(route.id))
    .map((code) => errorOf(route.id, code)),
])

/** What is missing in the answers of a whole run, and what is excused though it is there. */
export function complain(byRuntime: Answered): string[] {
  const answered = new Set([...byRuntime.values()].flatMap((answers) => [...answers]))
  const isExcused = (answer: string) => Object.hasOwn(excused, answer)
  return [
    ...promised.filter((answer) => !answered.has(answer) && !isExcused(answer)).map((answer) => `  missing: ${answer}`),
    ...Object.keys(excused)
      .filter((answer) => answered.has(answer) || !promised.includes(answer))
      .map((answer) => `  excused and no longer missing: ${answer}`),
    ...complainByRuntime(byRuntime),
  ]
}

/** Of `npm test`, where pages have no case of many operations: MSW in Node runs these cases with the same handlers. */
const isInPage = (runtime: string): boolean => !isWhole && runtime.endsWith(' in Chromium')

function complainByRuntime(byRuntime: Answered): string[] {
  const runtimes = [...byRuntime].filter(([runtime]) => runtime !== NO_RUNTIME)
  const statuses = new Set(
    runtimes.flatMap(([, answers]) => [...answers].filter((each) => each.startsWith(statusOf('')))),
  )
  return runtimes.flatMap(([runtime, answers]) => {
    const hasSuccess = ({ id, versions }: (typeof routeList)[number]) =>
      (versions ?? [undefined]).some((version) => answers.has(successOf(id, version)))
    const lacking = [
      ...routeList.filter((route) => !isInPage(runtime) && !hasSuccess(route)).map(({ id }) => `${id} success`),
      ...[...statuses].filter((status) => !answers.has(status)),
    ]
    const tag = isInPage(runtime) ? "['everywhere', 'pages', 'worker']" : "'everywhere'"
    return lacking.map((each) => `  missing in ${runtime}: ${each}; tag a case that answers it with ${tag}`)
  })
}
