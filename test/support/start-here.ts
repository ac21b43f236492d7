import { onTestFinished } from 'vitest'
import { readSettings } from '../../sandbox/config.js'
import { type RunningSandbox, startSandbox } from '../../sandbox/sandbox.js'

/**
 * Starts a sandbox of the command line in this process, with flags as commander names them: for tests that are not about the
 * process itself. It is closed at the end of the test, or before, and what it warns of is in `warnings`.
 */
export async function startHere(
  flags: Readonly<Record<string, unknown>>,
  directory = '/nowhere',
): Promise<RunningSandbox & { readonly warnings: readonly string[] }> {
  const warnings: string[] = []
  const settings = await readSettings({ flags: { port: '0', ...flags }, environment: {}, directory })
  const sandbox = await startSandbox(settings, { warn: (message) => warnings.push(message) })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= sandbox.close())
  onTestFinished(close)
  return { ...sandbox, warnings, close }
}
