import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { cli } from '../support/cli.js'

const tested = cli()
const command = fileURLToPath(new URL('../../dist/cli/farthing.js', import.meta.url))
const serving = `"${process.execPath}" "${command}" --memory --json --port 0`

const killing: (() => void)[] = []
afterEach(() => {
  for (const kill of killing.splice(0)) kill()
})

const killed = (pid: number) => () => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** A process that starts a command through a shell and waits for it, as npm does. Resolves when the sandbox listens. */
async function startedBy(script: string, env: NodeJS.ProcessEnv) {
  const launcher = `require('node:child_process').spawn('sh', ['-c', process.argv[1]], { stdio: 'inherit' })`
  const parent: ChildProcess = spawn(process.execPath, ['-e', launcher, script], {
    cwd: tested.directory,
    env: { PATH: process.env.PATH, HOME: tested.directory, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  killing.push(() => parent.kill('SIGKILL'))
  const line = await new Promise<string>((resolve) => parent.stdout?.once('data', (text) => resolve(String(text))))
  const { url, pid } = JSON.parse(line) as { url: string; pid: number }
  killing.push(killed(pid))
  const isUp = () =>
    fetch(`${url}/_sandbox/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  return { parent, isUp }
}

const npm = { npm_execpath: '/usr/lib/node_modules/npm/bin/npm-cli.js' }

test.each([
  ['with its shell between them', `${serving}; true`],
  ['without a shell between them', `exec ${serving}`],
])('a sandbox that npm started ends when npm is killed, %s', async (_, script) => {
  const { parent, isUp } = await startedBy(script, npm)
  expect(await isUp()).toBe(true)
  parent.kill('SIGKILL')
  await vi.waitUntil(async () => !(await isUp()))
})

test('a sandbox that npm started ends when the shell between them is killed', async () => {
  const { isUp } = await startedBy(`${serving} & until [ -e now ]; do sleep 0.1; done; kill -KILL $$`, npm)
  expect(await isUp()).toBe(true)
  await writeFile(join(tested.directory, 'now'), '')
  await vi.waitUntil(async () => !(await isUp()))
})

test.each([
  ['that npm started in a process group of its own', `setsid ${serving}; true`, npm],
  ['that npm did not start', `${serving}; true`, {}],
])('a sandbox %s outlives its parent', async (_, script, env) => {
  const { parent, isUp } = await startedBy(script, env)
  parent.kill('SIGKILL')
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(await isUp()).toBe(true)
})

test('farthing exec that npm started ends its command when npm is killed', async () => {
  const script = `"${process.execPath}" "${command}" exec --memory -- sh -c 'echo "{\\"url\\":\\"$FARTHING_URL\\",\\"pid\\":$$}"; exec sleep 60'; true`
  const { parent, isUp } = await startedBy(script, npm)
  expect(await isUp()).toBe(true)
  parent.kill('SIGKILL')
  await vi.waitUntil(async () => !(await isUp()))
})
