import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { errorsOf } from '../../../src/http/routing/errors.js'
import { routeList } from '../../../src/routes.js'
import { errorOf, NO_RUNTIME, statusOf, successOf } from '../scenes/answers.js'
import { excused, sharedErrors, unseenKeyErrors } from './excused.js'

/**
 * After a whole run of the contract tests: fails it when a route's success, under any version, or one of the errors that it
 * declares was never seen answered, and is not excused; or was seen, and is excused still. And fails it when a runtime never
 * answered a route, or a status that another one answered.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-answers-'))
  project.provide('answersFolder', folder)
  return async () => {
    const complaints = (await ranWhole(project)) ? complain(await readAnswers(folder)) : []
    await rm(folder, { recursive: true })
    if (complaints.length === 0) return
    process.exitCode = 1
    console.error(`\nThe contract tests leave answers of the route table unseen:\n${complaints.join('\n')}\n`)
  }
}

/** Whether every contract test there is ran, and passed. */
async function ranWhole({ vitest, config }: TestProject): Promise<boolean> {
  if (config.watch || config.testNamePattern) return false
  const folder = resolve(config.root, 'test/contract')
  const files = (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
  const passed = new Set(
    vitest.state
      .getTestModules()
      .filter((module) => module.ok())
      .map(({ moduleId }) => moduleId),
  )
  return files.every((file) => passed.has(file))
}

/** What was answered, by runtime. */
type Answered = ReadonlyMap<string, ReadonlySet<string>>

async function readAnswers(folder: string): Promise<Answered> {
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  const answered = new Map<string, Set<string>>()
  for (const line of texts.flatMap((text) => text.split('\n')).filter(Boolean)) {
    const [runtime = '', answer = ''] = line.split('\t')
    answered.set(runtime, (answered.get(runtime) ?? new Set()).add(answer))
  }
  return answered
}

/** Every answer that the table promises. */
const promised: readonly string[] = routeList.flatMap((route) => [
  ...(route.versions ?? [undefined]).map((version) => successOf(route.id, version)),
  ...errorsOf(route)
    .filter((code) => !sharedErrors.includes(code) && !unseenKeyErrors[code]?.includes(route.id))
    .map((code) => errorOf(route.id, code)),
])

function complain(byRuntime: Answered): string[] {
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

function complainByRuntime(byRuntime: Answered): string[] {
  const runtimes = [...byRuntime].filter(([runtime]) => runtime !== NO_RUNTIME)
  const statuses = new Set(
    runtimes.flatMap(([, answers]) => [...answers].filter((each) => each.startsWith(statusOf('')))),
  )
  return runtimes.flatMap(([runtime, answers]) => {
    const hasSuccess = ({ id, versions }: (typeof routeList)[number]) =>
      (versions ?? [undefined]).some((version) => answers.has(successOf(id, version)))
    const lacking = [
      ...routeList.filter((route) => !hasSuccess(route)).map(({ id }) => `${id} success`),
      ...[...statuses].filter((status) => !answers.has(status)),
    ]
    return lacking.map((each) => `  missing in ${runtime}: ${each}; tag a case that answers it with 'everywhere'`)
  })
}
