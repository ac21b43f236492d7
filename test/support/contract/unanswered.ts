import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestModule, TestProject } from 'vitest/node'
import type { Answered } from './promised-answers.js'

/**
 * After a whole run of the contract tests: fails it when a route's success, under any version, or one of the errors that it
 * declares was never seen answered, and is not excused; or was seen, and is excused still. And fails it when a runtime never
 * answered a route, or a status that another one answered.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-answers-'))
  project.provide('answersFolder', folder)
  return async () => {
    const answered = (await ranAll(project)) ? await readAnswers(folder) : undefined
    await rm(folder, { recursive: true })
    if (!answered) return
    // The whole service takes seconds to load, which most runs need not wait for.
    const { complain } = await import('./promised-answers.js')
    const complaints = complain(answered)
    if (complaints.length === 0) return
    process.exitCode = 1
    console.error(`\nThe contract tests leave answers of the route table unseen:\n${complaints.join('\n')}\n`)
  }
}

/** Whether every contract test there is ran. */
async function ranAll({ vitest, config }: TestProject): Promise<boolean> {
  if (config.watch || config.testNamePattern) return false
  const folder = resolve(config.root, 'test/contract')
  const files = (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
  return ranWhole(files, vitest.state.getTestModules())
}

/** Whether each file ran its tests, red ones too: what stays unseen does not hide behind them. One that fails as it loads ran none. */
export function ranWhole(files: readonly string[], modules: readonly Ran[]): boolean {
  const ran = modules.filter((module) => ['passed', 'failed'].includes(module.state()) && module.errors().length === 0)
  const paths = new Set(ran.map(({ moduleId }) => moduleId))
  return files.every((file) => paths.has(file))
}

type Ran = Pick<TestModule, 'moduleId' | 'state' | 'errors'>

async function readAnswers(folder: string): Promise<Answered> {
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  const answered = new Map<string, Set<string>>()
  for (const line of texts.flatMap((text) => text.split('\n')).filter(Boolean)) {
    const [runtime = '', answer = ''] = line.split('\t')
    answered.set(runtime, (answered.get(runtime) ?? new Set()).add(answer))
  }
  return answered
}
