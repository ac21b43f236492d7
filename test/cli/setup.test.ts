import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import config from '../../tsdown.config.js'

const scripts = fileURLToPath(new URL('../../scripts', import.meta.url))
const lock = (zod: string) =>
  JSON.stringify({ packages: { '': {}, 'node_modules/zod': { version: zod }, 'node_modules/mac': { optional: true } } })

/** Notes that it ran, then does what `npm ci` does: node_modules anew, with the hidden lock file that says what is there. */
const fakeNpm = `
const { appendFileSync, copyFileSync, mkdirSync, rmSync } = require('node:fs')
appendFileSync('ran', 'npm ' + process.argv[2] + '\\n')
if (process.env.NPM_FAILS) { console.error(process.env.NPM_FAILS); process.exit(1) }
rmSync('node_modules', { recursive: true, force: true })
mkdirSync('node_modules/tsdown/dist', { recursive: true })
copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
copyFileSync('fake-tsdown.mjs', 'node_modules/tsdown/dist/run.mjs')`

const fakeTsdown = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
const lib = process.argv.includes('lib')
const besideLib = process.argv.includes('client')
if (!besideLib) appendFileSync('ran', lib ? 'build\\n' : 'build cli\\n')
if (process.env.BUILD_FAILS && !besideLib) { console.error('src/index.ts: no such thing'); process.exit(1) }
await new Promise((resolve) => setTimeout(resolve, 100))
mkdirSync('dist/cli', { recursive: true })
mkdirSync('dist/lib', { recursive: true })
if (lib) writeFileSync('dist/lib/index.js', '')
else writeFileSync('dist/cli/farthing.js', 'console.log("farthing", ...process.argv.slice(2))')`

let folder: string
let project: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farthing-setup-'))
  project = join(folder, 'project')
  await mkdir(join(project, 'src'), { recursive: true })
  await mkdir(join(project, 'scripts'))
  for (const name of ['setup.mjs', 'start.mjs', 'lock.mjs'])
    await cp(join(scripts, name), join(project, 'scripts', name))
  await writeFile(join(project, 'package.json'), '{ "type": "module" }')
  await writeFile(join(project, 'package-lock.json'), lock('4.0.0'))
  await writeFile(join(project, 'src', 'index.ts'), 'export {}')
  await writeFile(join(project, 'fake-tsdown.mjs'), fakeTsdown)
  await mkdir(join(project, 'npm'))
  await writeFile(join(project, 'npm', 'package.json'), '{}')
  await writeFile(join(project, 'npm', 'npm-cli.js'), fakeNpm)
})

afterEach(() => rm(folder, { recursive: true }))

let kept: string | undefined
afterAll(async () => kept && rm(kept, { recursive: true }))

/** Makes the project one that is set up. The first that is stays for the others. */
async function beReady(): Promise<void> {
  if (kept === undefined) {
    expect((await setUp()).code).toBe(0)
    kept = await mkdtemp(join(tmpdir(), 'farthing-ready-'))
    await copyWithTimes(project, kept)
  } else {
    await rm(project, { recursive: true })
    await copyWithTimes(join(kept, 'project'), folder)
  }
}

/** The setup compares the times of files, of which `fs.cp` loses a part. */
const copyWithTimes = (from: string, to: string) => promisify(execFile)('cp', ['-Rp', from, to])

interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

function run(script: string, { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {}) {
  return new Promise<Ran>((resolve) => {
    const child = spawn(process.execPath, [join('scripts', script), ...args], {
      cwd: project,
      env: { ...process.env, npm_execpath: join(project, 'npm', 'npm-cli.js'), ...env },
    })
    const ran: Ran = { code: null, stdout: '', stderr: '' }
    child.stdout.on('data', (text) => (ran.stdout += text))
    child.stderr.on('data', (text) => (ran.stderr += text))
    child.on('close', (code) => resolve({ ...ran, code }))
  })
}

const setUp = (env?: Record<string, string>) => run('setup.mjs', env ? { env } : {})
const steps = () => readFile(join(project, 'ran'), 'utf8').then((text) => text.trim().split('\n'))
const quiet = { code: 0, stdout: '', stderr: '' }

test('installs and builds a fresh checkout, and says so on stderr', async () => {
  expect(await setUp()).toEqual({
    code: 0,
    stdout: '',
    stderr: 'farthing: installing dependencies (npm ci)\nfarthing: building\n',
  })
  expect(await steps()).toEqual(['npm ci', 'build'])
})

test('does nothing and prints nothing if nothing changed', async () => {
  await beReady()
  expect(await setUp()).toEqual(quiet)
  expect(await steps()).toEqual(['npm ci', 'build'])
})

test('builds again after a source changes, appears or disappears', async () => {
  await beReady()
  await writeFile(join(project, 'src', 'index.ts'), 'export const a = 1')
  await setUp()
  await writeFile(join(project, 'src', 'other.ts'), '')
  await setUp()
  await rm(join(project, 'src', 'other.ts'))
  await setUp()
  await rm(join(project, 'dist'), { recursive: true })
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'build', 'build', 'build', 'build'])
})

test('installs a changed lock file', async () => {
  await beReady()
  await writeFile(join(project, 'package-lock.json'), lock('4.1.0'))
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'npm ci', 'build'])
})

test('keeps an installation by hand', async () => {
  await beReady()
  await rm(join(project, 'node_modules', '.farthing-all'))
  await setUp()
  await utimes(join(project, 'package-lock.json'), 1, 1)
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'build', 'build'])
})

test('installs again for a different major version of Node', async () => {
  await beReady()
  const stamp = join(project, 'node_modules', '.farthing-all')
  await writeFile(stamp, (await readFile(stamp, 'utf8')).replace(/-node\d+ /, '-node18 '))
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'npm ci', 'build'])
})

test('installs and builds once if two start at once', async () => {
  const both = await Promise.all([setUp(), setUp()])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(await steps()).toEqual(['npm ci', 'build'])
})

test('ignores the lock of a dead process', async () => {
  await beReady()
  await writeFile(join(project, 'src', 'index.ts'), 'export const a = 1')
  await writeFile(join(project, '.setup.lock'), `${hostname()} 999999999`)
  const both = await Promise.all([setUp(), setUp()])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(await steps()).toEqual(['npm ci', 'build', 'build'])
})

test('prints one line if the installation fails, and tries again', async () => {
  for (const [output, line] of [
    [
      'npm error code ENOTFOUND\nnpm error network request failed',
      'cannot reach the npm registry (ENOTFOUND). Connect to the network and try again.',
    ],
    ['npm error code EACCES\nnpm error syscall mkdir\nnpm error no access', 'npm ci failed (EACCES): no access'],
    ['killed', 'npm ci failed (exit 1): no reason given'],
  ] as const) {
    const { code, stderr } = await setUp({ NPM_FAILS: output })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `farthing: installing dependencies (npm ci)\nfarthing: ${line}\n`,
    })
  }
  expect((await setUp()).code).toBe(0)
})

test('shows why a build fails, and tries again', async () => {
  await beReady()
  await writeFile(join(project, 'src', 'index.ts'), 'export const a = 1')
  const { code, stderr } = await setUp({ BUILD_FAILS: '1' })
  expect(code).toBe(1)
  expect(stderr).toMatch(/src\/index\.ts: no such thing\nfarthing: the build failed, see above\n$/)
  expect((await setUp()).code).toBe(0)
  expect(await steps()).toEqual(['npm ci', 'build', 'build', 'build'])
})

test('npm start builds only the command, and runs it with its arguments', async () => {
  const start = (...args: string[]) => run('start.mjs', { args })
  expect(await start('--port', '5000')).toMatchObject({ code: 0, stdout: 'farthing --port 5000\n' })
  expect(await start()).toEqual({ code: 0, stdout: 'farthing\n', stderr: '' })
  expect(await steps()).toEqual(['npm ci', 'build cli'])
})

test('a build for the tests serves a start too, but not the other way round', async () => {
  await run('start.mjs')
  await setUp()
  await run('start.mjs')
  expect(await steps()).toEqual(['npm ci', 'build cli', 'build'])
})

test('a build by hand builds again, and is the build that the tests use', async () => {
  await beReady()
  expect(await run('setup.mjs', { args: ['--again'] })).toMatchObject({ code: 0 })
  await setUp()
  expect(await steps()).toEqual(['npm ci', 'build', 'build'])
})

test('builds each part of tsdown.config.ts once', async () => {
  const { parts } = await import(new URL('../../scripts/setup.mjs', import.meta.url).href)
  const named = config.map(({ name }) => name)
  expect(parts.all.builds.flat().sort()).toEqual(named.sort())
})
