import { spawnSync } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { cli } from '../support/cli.js'
import { howMuch } from '../support/how-much.js'
import { runHere } from '../support/run-here.js'
import { startHere } from '../support/start-here.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const farthing = cli()
const { run } = farthing
/** In this process, where the test is not about one. */
const here = (args: readonly string[]) => runHere(args, farthing.directory)

const inDirectory = (file: string) => join(farthing.directory, file)

/** A script that buys an article, and tries again after a lost answer. */
const buying = (headers: string) => `
const { FARTHING_URL: url, FARTHING_USER_CLIENT_ID: id, FARTHING_USER_CLIENT_SECRET: secret } = process.env
const retried = async (send) => {
  for (let left = 4; left > 0; left--) {
    const answer = await send().catch(() => undefined)
    const isRunning = answer?.status === 409 && (await answer.clone().json()).code === 'idempotency_in_progress'
    if (answer && answer.status !== 503 && answer.status !== 401 && !isRunning) return answer
  }
  throw new Error('it failed')
}
const basic = { authorization: 'Basic ' + btoa(id + ':' + secret) }
const token = await retried(() => fetch(url + '/v4/user/oauth/token', { method: 'POST', headers: basic }))
const { access_token } = await token.json()
const { cost } = await (await retried(() => fetch(url + '/v4/commodity/${demo.commodities.article}'))).json()
const answer = await retried(() =>
  fetch(url + '/v4/payment/${demo.commodities.article}', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + access_token, 'content-type': 'application/json', ${headers} },
    body: JSON.stringify({ cost }),
  }),
)
if (answer.status !== 202) throw new Error('refused ' + answer.status)
console.log('bought')
`

async function script(headers: string, name = 'buy.mjs'): Promise<readonly string[]> {
  await writeFile(inDirectory(name), buying(headers))
  return ['--', process.execPath, inDirectory(name)]
}

describe('rehearse', () => {
  test('exits with 0 for a command that keeps one key', async () => {
    const runs = howMuch(4, 16)
    const options = ['--budget', String(runs), '--slow', '50']
    const { code, stdout } = await run(['rehearse', ...options, ...(await script(`'idempotency-key': 'a'`))])
    expect(stdout).toMatch(new RegExp(`^No fault of the client in ${runs} runs of \\d+ plans\\.\\n$`))
    expect(code).toBe(0)
  })

  test('is watched in the workbench of a sandbox that runs, without the tokens of its command', async () => {
    const sandbox = await startHere({ memory: true, controlToken: 'control' })
    const token = `ms_${'0'.repeat(32)}`
    const watching = ['--url', sandbox.url, '--control-token', 'control', '--budget', '2', '--slow', '50']
    const { code, stderr } = await here(['rehearse', ...watching, ...(await script('')), token])
    expect(code).toBe(1)
    const [address = '', id = ''] = /watch it at (\S+\/#\/rehearse\/(\S+))/.exec(stderr)?.slice(1) ?? []
    expect(address).toBe(`${sandbox.url}/#/rehearse/${id}`)
    const headers = { authorization: 'Bearer control' }
    const kept = await fetch(`${sandbox.url}/_sandbox/rehearsals/${id}`, { headers }).then((answer) => answer.json())
    expect(kept).toMatchObject({ running: false, runs: 2, findings: [{ verdict: 'paid_twice' }] })
    expect(kept.flags).toEqual(['--slow', '50'])
    expect(kept.command).toContain('buy.mjs [redacted]')
    const cell = { kind: 'lost_after', operation: 'createPayment', state: 'failed' }
    expect(kept.cells).toContainEqual(expect.objectContaining(cell))
  })

  test('exits with 1 and shows how a command pays twice, in each format', async () => {
    const command = await script('')
    const [junit, html] = [inDirectory('rehearsal.xml'), inDirectory('rehearsal.html')]
    const options = ['--budget', '2', '--slow', '50', '--random-seed', '7']
    const { code, stdout } = await here([
      'rehearse',
      ...options,
      '--json',
      '--junit',
      junit,
      '--html',
      html,
      ...command,
    ])
    expect(code).toBe(1)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ ok: false, runs: 2, random_seed: 7 })
    expect(report.findings[0]).toMatchObject({
      ...{ verdict: 'paid_twice', habit: 'sends_no_key', operation: 'createPayment', payments: 2 },
      plan: [{ kind: 'lost_after', operation: 'createPayment', nth: 1 }],
    })
    expect(await readFile(junit, 'utf8')).toContain('<failure message="2 calls, 2 payments')
    const page = await readFile(html, 'utf8')
    expect(page).toContain('<h2>paid twice</h2>')
    expect(page).not.toContain('<script')
    const written = await here(['rehearse', ...options, '--as', 'vitest', ...command])
    expect(written.code).toBe(1)
    expect(written.stdout).toContain('expect(found).not.toContain("paid_twice sends_no_key createPayment")')
    const shown = await here(['rehearse', ...options, ...command])
    expect(shown.stdout).toContain(
      '2 calls, 2 payments, 1 delivered: when call 1 of createPayment works, and its answer is lost, the client tries again without an Idempotency-Key.',
    )
    expect(shown.stdout).toContain('--random-seed 7')
  })

  test('ends when the time of its budget is over, and shows no progress where nobody watches', async () => {
    const options = ['rehearse', '--budget', '1s', '--slow', '50']
    const { code, stdout, stderr } = await here([...options, ...(await script(`'idempotency-key': 'a'`))])
    const [, runs, plans] = /^No fault of the client in (\d+) runs of (\d+) plans\.\n$/.exec(stdout) ?? []
    expect(Number(runs)).toBeLessThan(Number(plans))
    expect(stderr).toBe('')
    expect(code).toBe(0)
  })

  test('writes a test that fails until the command is fixed', async () => {
    const two = ['--budget', '2', '--slow', '50']
    const written = await here(['rehearse', ...two, '--as', 'vitest', ...(await script(''))])
    await script(`'idempotency-key': 'a'`, 'fixed.mjs')
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

  test.each([
    [['--budget', 'soon', '--', 'true'], '--budget must be a number of runs'],
    [['--budget', '5h', '--', 'true'], '--budget must be a number of runs'],
    [['--budget', '0', '--', 'true'], '--budget must be a number of runs'],
    [['--random-seed', 'x', '--', 'true'], '--random-seed must be a whole number'],
    [['--as', 'jest', '--', 'true'], "'--as <format>' argument 'jest' is invalid"],
    [['--', process.execPath, '-e', 'process.exit(3)'], 'It fails without faults: exit code 3'],
    [['--', process.execPath, '-e', '0'], 'It makes no call that pays.'],
    [['--', 'no-such-command'], 'cannot run no-such-command'],
    [[], "missing required argument 'command'"],
  ])('refuses %j', async (args, reason) => {
    const { code, stdout, stderr } = await here(['rehearse', ...args])
    expect(stderr).toContain(reason)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })
})
