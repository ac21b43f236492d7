import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeEach, expect } from 'vitest'

const scripts = fileURLToPath(new URL('../../scripts', import.meta.url))
/** A lock file. */
export const lockOf = (zod: string) =>
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

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** The setup compares the times of files, of which `fs.cp` loses a part. */
const copyWithTimes = (from: string, to: string) => promisify(execFile)('cp', ['-Rp', from, to])

/** A checkout for each test of a file, with an npm and a build that only note that they ran. */
export function useCheckout() {
  let folder = ''
  let project = ''
  let kept: string | undefined

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farthing-setup-'))
    project = join(folder, 'project')
    await mkdir(join(project, 'src'), { recursive: true })
    await mkdir(join(project, 'scripts'))
    for (const name of ['setup.mjs', 'start.mjs', 'lock.mjs'])
      await cp(join(scripts, name), join(project, 'scripts', name))
    await writeFile(join(project, 'package.json'), '{ "type": "module" }')
    await writeFile(join(project, 'package-lock.json'), lockOf('4.0.0'))
    await writeFile(join(project, 'src', 'index.ts'), 'export {}')
    await writeFile(join(project, 'fake-tsdown.mjs'), fakeTsdown)
    await mkdir(join(project, 'npm'))
    await writeFile(join(project, 'npm', 'package.json'), '{}')
    await writeFile(join(project, 'npm', 'npm-cli.js'), fakeNpm)
  })

  afterEach(() => rm(folder, { recursive: true }))

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

  return { in: (...names: string[]) => join(project, ...names), beReady, run, setUp, steps }
}
