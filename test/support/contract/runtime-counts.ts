import type { TestCase, TestModule, TestProject } from 'vitest/node'

/** After a run: how many contract tests each runtime passed, one line for each; fails the run where one skipped any. */
export default function setup({ vitest, config }: TestProject): () => void {
  return () => {
    const counts = countByRuntime(vitest.state.getTestModules())
    if (counts.size === 0 || config.watch) return
    const lines = [...counts].map(([runtime, { passed, failed, skipped }]) =>
      [`${String(passed).padStart(8)} passed`, failed && `${failed} failed`, skipped && `${skipped} skipped`, runtime]
        .filter(Boolean)
        .join(', '),
    )
    console.log(`\nThe contract, by runtime:\n${lines.join('\n')}\n`)
    const isPartial = config.testNamePattern !== undefined
    if (!isPartial && [...counts.values()].some(({ skipped }) => skipped > 0)) process.exitCode = 1
  }
}

interface Count {
  passed: number
  failed: number
  skipped: number
}

function countByRuntime(modules: readonly TestModule[]): Map<string, Count> {
  const counts = new Map<string, Count>()
  for (const module of modules)
    for (const test of module.children.allTests()) {
      const runtime = runtimeOf(test)
      if (runtime === undefined) continue
      const count = counts.get(runtime) ?? { passed: 0, failed: 0, skipped: 0 }
      counts.set(runtime, count)
      const { state } = test.result()
      count[state === 'passed' || state === 'failed' ? state : 'skipped']++
    }
  return counts
}

/** What `contract` puts behind a title. */
function runtimeOf({ parent, module }: TestCase): string | undefined {
  if (!module.moduleId.includes('/test/contract/')) return undefined
  let outermost = parent
  while (outermost.type === 'suite' && outermost.parent.type === 'suite') outermost = outermost.parent
  return outermost.type === 'suite' ? /\(([^()]+)\)$/.exec(outermost.name)?.[1] : undefined
}
