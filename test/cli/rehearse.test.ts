import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cli } from '../support/cli.js'
import { howMuch } from '../support/how-much.js'
import { runHere } from '../support/run-here.js'
import { startHere } from '../support/start-here.js'
import { buyingIn } from './buying.js'

const farthing = cli()
const { run } = farthing
/** In this process, where the test is not about one. */
const here = (args: readonly string[]) => runHere(args, farthing.directory)

const inDirectory = (file: string) => join(farthing.directory, file)

const script = (headers: string) => buyingIn(farthing.directory, headers)

describe('rehearse', () => {
  test('exits with 0 for a command that keeps one key', async () => {
    const runs = howMuch(2, 16)
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
    expect(written.stdout).toContain(JSON.stringify(['--slow', '50', ...command]).slice(1))
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
    const [, runs, plans] = /^No fault of the client in (\d+) runs? of (\d+) plans\.\n$/.exec(stdout) ?? [stdout]
    expect(Number(runs), stdout).toBeLessThan(Number(plans))
    expect(stderr).toBe('')
    expect(code).toBe(0)
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
