import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/**
 * Defects that the fuzzer must find, each of its own class, as a patch of the sources. Its first line says what it does, and
 * which operation shows it: requests to all operations would find it too, and take hours.
 */
const folder = 'test/fuzz/planted'
const patches = readdirSync(folder).filter((name) => name.endsWith('.patch'))

const run = promisify(execFile)

/** Applies a patch in a folder, or only says whether that can be done. */
const apply = (patch: string, cwd: string, ...more: string[]) =>
  run('git', ['apply', '--whitespace=nowarn', ...more, resolve(folder, patch)], { cwd })

test('there are at least 5 planted defects, and each still applies', async () => {
  expect(patches.length).toBeGreaterThanOrEqual(5)
  for (const patch of patches) {
    expect(readFileSync(join(folder, patch), 'utf8')).toMatch(/^[A-Z].+ \(\w+\)\.\n\ndiff /)
    await apply(patch, '.', '--check')
  }
})

/** `npm run test:long` names them: each takes a minute. */
const wanted = process.env.FARTHING_FUZZ_PLANTED?.split(',') ?? []
const tried = patches.filter((patch) => wanted.some((name) => name === 'all' || `${name}.patch` === patch))

/** What a run of the fuzzer needs. */
const needed = ['src', 'adapters', 'sandbox', 'scripts', 'test', 'docs/guides', 'package.json', 'tsconfig.json']

for (const patch of tried)
  test(`the fuzzer finds it: ${patch}`, { timeout: 1_800_000 }, async () => {
    const copy = mkdtempSync(join(tmpdir(), 'farthing-planted-'))
    try {
      mkdirSync(join(copy, 'docs'))
      for (const path of [...needed, 'vitest.config.ts']) cpSync(path, join(copy, path), { recursive: true })
      symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
      await apply(patch, copy)
      const [, only] = /\((\w+)\)\.\n/.exec(readFileSync(join(folder, patch), 'utf8')) ?? []
      const args = ['node_modules/vitest/vitest.mjs', 'run', 'test/fuzz/fuzz.test.ts', '-t', 'no hostile request']
      const env = { ...process.env, FARTHING_FUZZ_RUNS: '1500', FARTHING_FUZZ_SEED: '4242', FARTHING_FUZZ_ONLY: only }
      const { stdout, stderr } = await run(process.execPath, args, { cwd: copy, env, maxBuffer: 1 << 26 }).catch(
        (failed: { stdout: string; stderr: string }) => failed,
      )
      // What failed is on the error output.
      const said = stdout + stderr
      const [found] = /Property failed after \d+ tests/.exec(said) ?? []
      expect(found, said.slice(-2000)).toBeDefined()
      process.stdout.write(`${patch}: ${found}\n`)
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  })
