import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { errorsOf } from '../../src/http/errors.js'
import { routes } from '../../src/routes.js'
import { errorOf, successOf } from './answers.js'
import { excused } from './excused.js'

/**
 * After a whole run of the contract tests: fails it when a route's success, under any version, or one of the errors that it
 * declares was never seen answered, and is not excused; or was seen, and is excused still.
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
  const files = (await readdir(folder)).filter((name) => name.endsWith('.test.ts')).map((name) => join(folder, name))
  const passed = new Set(
    vitest.state
      .getTestModules()
      .filter((module) => module.ok())
      .map(({ moduleId }) => moduleId),
  )
  return files.every((file) => passed.has(file))
}

async function readAnswers(folder: string): Promise<ReadonlySet<string>> {
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return new Set(texts.flatMap((text) => text.split('\n')))
}

/** Every answer that the table promises. */
const promised: readonly string[] = routes.flatMap((route) => [
  ...(route.versions ?? [undefined]).map((version) => successOf(route.id, version)),
  ...errorsOf(route).map((code) => errorOf(route.id, code)),
])

function complain(answered: ReadonlySet<string>): string[] {
  const isExcused = (answer: string) => Object.hasOwn(excused, answer)
  return [
    ...promised.filter((answer) => !answered.has(answer) && !isExcused(answer)).map((answer) => `  missing: ${answer}`),
    ...Object.keys(excused)
      .filter((answer) => answered.has(answer) || !promised.includes(answer))
      .map((answer) => `  excused and no longer missing: ${answer}`),
  ]
}
