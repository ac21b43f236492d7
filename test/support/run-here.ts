import { vi } from 'vitest'
import { runProgram } from '../../sandbox/program.js'
import type { Ended } from './cli.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs the command line in this process, as if in a folder: for tests that are not about the process itself. A process of
 * its own takes a third of a second only to load.
 */
export async function runHere(
  args: readonly string[],
  cwd = process.cwd(),
): Promise<Pick<Ended, 'code' | 'stdout' | 'stderr'>> {
  const printed = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += text
      return true
    }),
  )
  // A process that ends does not remove its own.
  const before = new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]))
  const home = process.cwd()
  process.chdir(cwd)
  process.exitCode = undefined
  try {
    await runProgram(args)
    return { code: Number(process.exitCode ?? 0), ...printed }
  } finally {
    process.exitCode = undefined
    process.chdir(home)
    for (const spy of spies) spy.mockRestore()
    for (const [signal, known] of before)
      for (const added of process.listeners(signal).filter((each) => !known.includes(each)))
        process.removeListener(signal, added)
  }
}
