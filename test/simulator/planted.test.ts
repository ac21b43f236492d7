import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Defects that someone might add, each as a patch of the sources. Its first line says what it does. */
const folder = 'test/simulator/planted'
const patches = readdirSync(folder).filter((name) => name.endsWith('.patch'))

const run = promisify(execFile)

/** Applies a patch in a folder, or only says whether that can be done. */
const apply = (patch: string, cwd: string, ...more: string[]) =>
  // A folder outside of a repository has no other settings.
  run('git', ['apply', '--whitespace=nowarn', ...more, resolve(folder, patch)], { cwd })

test('there are at least 12 planted defects, and each still applies', async () => {
  expect(patches.length).toBeGreaterThanOrEqual(12)
  for (const patch of patches) {
    expect(readFileSync(join(folder, patch), 'utf8')).toMatch(/^[A-Z].+\.\n\ndiff /)
    await apply(patch, '.', '--check')
  }
})

/** `npm run test:long` names them: each takes about half a minute. */
const wanted = process.env.FARTHING_SIMULATOR_PLANTED?.split(',') ?? []
const tried = patches.filter((patch) => wanted.some((name) => name === 'all' || `${name}.patch` === patch))

/** What a run of the simulator needs. */
const needed = ['src', 'adapters', 'sandbox', 'scripts', 'test', 'docs/guides', 'package.json', 'tsconfig.json']

for (const patch of tried)
  test(`the simulator finds it: ${patch}`, { timeout: 900_000 }, async () => {
    const copy = mkdtempSync(join(tmpdir(), 'farthing-planted-'))
    try {
      mkdirSync(join(copy, 'docs'))
      for (const path of [...needed, 'vitest.config.ts']) cpSync(path, join(copy, path), { recursive: true })
      symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
      await apply(patch, copy)
      const args = [
        'node_modules/vitest/vitest.mjs',
        'run',
        'test/simulator/simulator.test.ts',
        '-t',
        'keeps its promises',
      ]
      const env = { ...process.env, FARTHING_SIMULATOR_SEEDS: '400', FARTHING_SIMULATOR_SHRINK: '0' }
      const { stdout, stderr } = await run(process.execPath, args, { cwd: copy, env, maxBuffer: 1 << 26 }).catch(
        (failed: { stdout: string; stderr: string }) => failed,
      )
      // What failed is on the error output.
      const said = stdout + stderr
      const [found] = /PropertyBroken: [^:]+/.exec(said) ?? []
      expect(found, said.slice(-2000)).toBeDefined()
      process.stdout.write(`${patch}: ${found}, ${/Seed \d+ fails/.exec(said)?.[0]}\n`)
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  })
