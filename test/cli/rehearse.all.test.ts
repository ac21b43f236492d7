import { spawnSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { cli } from '../support/cli.js'
import { runHere } from '../support/run-here.js'
import { buyingIn } from './buying.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const farthing = cli()
const inDirectory = (file: string) => join(farthing.directory, file)

describe('rehearse', () => {
  test('writes a test that fails until the command is fixed', async () => {
    const two = ['--budget', '2', '--slow', '50']
    const written = await runHere(
      ['rehearse', ...two, '--as', 'vitest', ...(await buyingIn(farthing.directory, ''))],
      farthing.directory,
    )
    await buyingIn(farthing.directory, `'idempotency-key': 'a'`, 'fixed.mjs')
    await mkdir(inDirectory('node_modules/.bin'), { recursive: true })
    await symlink(join(root, 'dist/cli/farthing.js'), inDirectory('node_modules/.bin/farthing'))
    await symlink(join(root, 'node_modules/vitest'), inDirectory('node_modules/vitest'))
    await writeFile(inDirectory('pays-twice.test.mjs'), written.stdout)
    await writeFile(inDirectory('pays-once.test.mjs'), written.stdout.replaceAll('buy.mjs', 'fixed.mjs'))
    await writeFile(inDirectory('none.mjs'), 'export default {}')
    // The inner run is no worker of this one.
    const { VITEST: _, VITEST_WORKER_ID: __, VITEST_POOL_ID: ___, ...env } = process.env
    const inThis = ['--root', farthing.directory, '--config', 'none.mjs', '--pool', 'threads', '--no-isolate']
    const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...inThis, '--maxWorkers', '1']
    const options = { encoding: 'utf8', cwd: farthing.directory, env } as const
    const { stdout, stderr, status } = spawnSync(process.execPath, vitest, options)
    const printed = stripVTControlCharacters(stdout + stderr)
    expect(printed).toContain('FAIL  pays-twice.test.mjs')
    expect(printed).toContain('paid_twice sends_no_key createPayment')
    expect(printed).toMatch(/Tests +1 failed \| 1 passed/)
    expect(status).toBe(1)
  })
})
