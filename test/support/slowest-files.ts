import { relative } from 'node:path'
import type { TestModule, TestProject } from 'vitest/node'

const SHOWN = 10

/** After a run of many files: the slowest ones, with the seconds that each took to load and to run. */
export default function setup({ vitest, config }: TestProject): () => void {
  return () => {
    const modules = vitest.state.getTestModules()
    if (modules.length <= SHOWN || config.watch) return
    const lines = modules
      .map((module) => ({ module, seconds: secondsOf(module) }))
      .sort((one, other) => other.seconds - one.seconds)
      .slice(0, SHOWN)
      .map(({ module, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${relative(config.root, module.moduleId)}`)
    console.log(`\nThe ${SHOWN} slowest files:\n${lines.join('\n')}`)
  }
}

function secondsOf(module: TestModule): number {
  const { setupDuration, collectDuration, duration } = module.diagnostic()
  return (setupDuration + collectDuration + duration) / 1000
}
