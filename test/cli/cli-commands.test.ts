import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { checkTarget, readState } from '../../sandbox/state.js'
import { routeList } from '../../scripts/route-table.js'
import { caller } from '../support/api.js'
import { cli, type Ended, type Sandbox } from '../support/cli.js'
import { runHere } from '../support/run-here.js'
import { newPayer, newSeller, tokenFor } from '../support/scenes/world.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()
const { run, start } = farthing
const root = fileURLToPath(new URL('../..', import.meta.url))

/** In this process, where the test is not about one. */
const here = (args: readonly string[]) => runHere(args, farthing.directory)

const inDirectory = (file: string) => join(farthing.directory, file)
const accountsIn = async (file: string) => (await readState(inDirectory(file))).rows.accounts
const readJson = async (file: string) => JSON.parse(await readFile(inDirectory(file), 'utf8'))
const calling = ({ url }: Pick<Sandbox, 'url'>) => caller({ url, fetch, close: async () => {} })

test('--version and --help list the version and the commands', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` })
  const { code, stdout } = await here(['--help'])
  expect(code).toBe(0)
  for (const word of ['exec', 'init', 'export', 'import', 'openapi', 'diff', '--port', '--seed', '--export-on-exit'])
    expect(stdout).toContain(word)
})

test('init writes a config file that start accepts, and never overwrites one', async () => {
  expect(await here(['init'])).toMatchObject({ code: 0, stderr: '' })
  const written = await readFile(inDirectory('farthing.config.json'), 'utf8')
  expect(JSON.parse(written)).toMatchObject({ port: 4242, seed: 'farthing.seed.yaml' })
  const home = process.cwd()
  process.chdir(farthing.directory)
  const sandbox = await startHere({}, farthing.directory).finally(() => process.chdir(home))
  expect(sandbox.credentials.accounts).not.toEqual([])
  await sandbox.close()
  const again = await here(['init'])
  expect(again).toMatchObject({ code: 2, stderr: expect.stringMatching(/^farthing: .* already exists; .*\n$/) })
  expect(await readFile(inDirectory('farthing.config.json'), 'utf8')).toBe(written)
})

test('openapi prints the document of the route table', async () => {
  const { code, stdout } = await here(['openapi', '--base-url', 'https://pay.example.test'])
  expect(code).toBe(0)
  const document = JSON.parse(stdout)
  expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://pay.example.test' }] })
  const operations = Object.values(document.paths as Record<string, object>).flatMap((path) => Object.keys(path))
  expect(operations.length).toBe(routeList.reduce((sum, { versions }) => sum + (versions?.length ?? 1), 0))
})

describe('exec', () => {
  const node = (script: string) => ['--', process.execPath, '-e', script]

  test('gives the command its own sandbox and the credentials, and lets commands inside find it', async () => {
    const inside = JSON.stringify([join(root, 'dist/cli/farthing.js'), 'reset'])
    const script = `fetch(process.env.FARTHING_URL + '/v4/account/oauth/token', { method: 'POST', headers: {
      authorization: 'Basic ' + btoa(process.env.FARTHING_CLIENT_ID + ':' + process.env.FARTHING_CLIENT_SECRET) } })
      .then((answer) => console.log(answer.status, process.env.FARTHING_PUBLIC_SECRET, process.env.FARTHING_USER_EMAIL))
      .then(() => require('node:child_process').spawnSync(process.execPath, ${inside}, { stdio: 'inherit' }))`
    const { code, stdout, stderr } = await run(['exec', ...node(script)], { env: { PORT: '1' } })
    expect(code).toBe(0)
    expect(stderr).toMatch(/^farthing: workbench: http:\/\/127\.0\.0\.1:\d+\/\n$/)
    const [told, reset] = stdout.split('\n')
    expect(told).toBe(`200 ${demo.account.public_secret} ${demo.payer.email}`)
    expect(reset).toMatch(/^http:\S+ is reset to its seed\.$/)
    await expect(stat(inDirectory('.farthing'))).rejects.toThrow('ENOENT')
  })

  test('is found by other commands in its folder, and no longer after a crash', async () => {
    const env = { XDG_RUNTIME_DIR: inDirectory('run') }
    const script = `fetch(process.env.FARTHING_URL + '/v4/dq').then(() => console.log('called'))
      const { ppid } = process
      setInterval(() => process.ppid === ppid || process.exit(), 50)`
    const { child, firstLine, ended } = farthing.spawn(['exec', '--quiet', ...node(script)], { env })
    expect(await firstLine()).toBe('called')
    await mkdir(inDirectory('src'))
    vi.stubEnv('XDG_RUNTIME_DIR', env.XDG_RUNTIME_DIR)
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const cwd of [farthing.directory, inDirectory('src')])
      expect(await runHere(['requests'], cwd)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('GET /v4/dq → 200'),
      })
    expect(await here(['explain'])).toMatchObject({ stderr: expect.stringContaining('has no refused request') })
    child.kill('SIGKILL')
    const [file = ''] = await readdir(inDirectory('run/farthing'))
    await ended
    await startHere({ memory: true, seed: 'none' }, farthing.directory)
    expect((await here(['requests', '--json'])).stdout).toBe('')
    expect(await readdir(inDirectory('run/farthing'))).not.toContain(file)
  })

  test('ends with the exit code of the command', async () => {
    expect(await here(['exec', ...node('process.exit(7)')])).toMatchObject({ code: 7 })
    expect(await here(['exec', ...node('process.exit(0)')])).toMatchObject({ code: 0 })
  })

  test('ends with the signal that ended the command', async () => {
    expect(await run(['exec', ...node('process.kill(process.pid, "SIGTERM")')])).toMatchObject({ signal: 'SIGTERM' })
  })

  test('forwards a signal and waits for the command', async () => {
    const script = `process.on('SIGTERM', () => setTimeout(() => { console.log('tidied up'); process.exit(3) }, 50))
      console.log('runs'); setInterval(() => {}, 1000)`
    const { child, ended, firstLine } = farthing.spawn(['exec', ...node(script)])
    expect(await firstLine()).toBe('runs')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 3, stdout: 'runs\ntidied up\n' })
  })

  test('passes flags after the command to it', async () => {
    const script = `require('node:fs').writeFileSync('sum', String(1 + 1))`
    expect((await here(['exec', '--seed', 'none', process.execPath, '-e', script])).code).toBe(0)
    expect(await readFile(inDirectory('sum'), 'utf8')).toBe('2')
  })

  test('reports an unknown command, and ends with 127', async () => {
    const { code, stderr } = await here(['exec', '--', 'no-such-command-here'])
    expect({ code, stderr }).toEqual({
      code: 127,
      stderr: 'farthing: cannot run no-such-command-here: command not found\n',
    })
  })

  test('does not run the command if the sandbox cannot start', async () => {
    expect(await here(['exec', '--seed', 'missing.json', ...node(RAN)])).toMatchObject({ code: 2, stdout: '' })
    expect(await readdir(farthing.directory)).toEqual([])
  })

  test('stores its state in a file with --data', async () => {
    expect(await here(['exec', '--data', 'kept.json', ...node('')])).toMatchObject({ code: 0 })
    expect(await accountsIn('kept.json')).toHaveLength(1)
  })
})

describe('state', () => {
  const through = (ended: Omit<Ended, 'signal'>) => expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })

  const fileFlags = ['data', 'import', 'exportOnExit']
  /** A sandbox in this process, whose files are in the directory of the test. */
  const started = (flags: Readonly<Record<string, string | boolean>>) =>
    startHere(
      Object.fromEntries(
        Object.entries(flags).map(([name, value]) => [
          name,
          fileFlags.includes(name) ? inDirectory(String(value)) : value,
        ]),
      ),
    )
  const leave = async (data: string) => (await started({ data })).close()

  /** A sandbox in which something happened. */
  async function used(flags: Readonly<Record<string, string | boolean>>) {
    const sandbox = await started(flags)
    const call = calling(sandbox)
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: 3 })
    await call('POST', `/v4/payment/${demo.commodities.article}`, { token: payer.token })
    return { ...sandbox, seller, payer }
  }

  test('is the same after an export and an import, with its secrets', async () => {
    const first = await used({ data: 'a.json' })
    const { token } = first.payer
    const me = async (sandbox: Pick<Sandbox, 'url'>) => {
      const call = calling(sandbox)
      const user = (await call('GET', `/v4/user/${first.payer.id}`, { token })).body
      const twins = (await call('GET', '/v4/twins', { token })).body
      return { user, twins, payments: (await call('GET', '/v4/payments', { token })).body }
    }
    const before = await me(first)
    await first.close()
    through(await here(['export', 'state.json', '--data', 'a.json']))
    expect((await stat(inDirectory('state.json'))).mode & 0o777).toBe(0o600)
    // Over data of another key: its own goes with it.
    await leave('b.json')
    through(await here(['import', 'state.json', '--data', 'b.json']))
    through(await here(['export', 'again.json', '--data', 'b.json']))
    expect(await readFile(inDirectory('again.json'), 'utf8')).toBe(await readFile(inDirectory('state.json'), 'utf8'))
    const second = await started({ data: 'b.json' })
    expect(await me(second)).toEqual(before)
    expect(second.credentials.users).toEqual(first.credentials.users)
  })

  test('moves from one run in memory to the next with --import and --export-on-exit', async () => {
    const kept = { memory: true, import: 'state.json', exportOnExit: 'state.json' }
    const first = await used(kept)
    const payments = (await calling(first)('GET', '/v4/payments', { token: first.payer.token })).body
    expect(payments.payments).toHaveLength(1)
    await first.close()
    expect(first.warnings).toEqual([])
    const second = await started(kept)
    expect((await calling(second)('GET', '/v4/payments', { token: first.payer.token })).body).toEqual(payments)
    expect((await calling(second)('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  })

  test('is written by --export-on-exit when the terminal closes too', async () => {
    const sandbox = await start(['--memory', '--export-on-exit', 'state.json'])
    const seller = await newSeller(calling(sandbox))
    expect(await sandbox.stop('SIGHUP')).toMatchObject({ code: 0, signal: null, stderr: '' })
    expect(JSON.stringify(await readJson('state.json'))).toContain(seller.clientId)
  })

  test('works without its key, with new tokens for old credentials', async () => {
    const first = await used({ memory: true, exportOnExit: 'state.json' })
    await first.close()
    const state = await readJson('state.json')
    delete state.rows.settings
    await writeFile(inDirectory('state.json'), JSON.stringify(state))
    const call = calling(await started({ memory: true, import: 'state.json' }))
    const { seller } = first
    const token = await tokenFor(call, seller.clientId, seller.clientSecret)
    for (const each of [token, seller.token])
      expect((await call('GET', '/v4/account', { token: each })).status).toBe(200)
  })

  test('that is invalid is refused, and the stored state stays', async () => {
    await leave('.farthing/data.json')
    const kept = await readFile(inDirectory('.farthing/data.json'), 'utf8')
    await writeFile(inDirectory('notes.json'), '{"counters": {}, "rows": {"twins": [{}]}}')
    for (const args of [
      ['import', 'notes.json'],
      ['--port', '0', '--import', 'notes.json'],
    ])
      expect(await here(args)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /^farthing: cannot import notes\.json: [^\n]+ In twins, its row number 1 has no id\.\n$/,
        ),
      })
    expect(await readFile(inDirectory('.farthing/data.json'), 'utf8')).toBe(kept)
  })

  test("is not exported over a sandbox's data file, which start refuses at once", async () => {
    const data = '.farthing/data.json'
    await leave(data)
    for (const args of [
      ['export', data],
      ['--memory', '--export-on-exit', data],
      ['--data', 'new.json', '--export-on-exit', './new.json'],
    ])
      expect(await here([...args, ...(args[0] === 'export' ? [] : ['--port', '0'])])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^farthing: \S+ is a sandbox's data file: [^\n]+\n$/),
      })
    expect(await accountsIn(data)).toHaveLength(1)
  })

  test('is written over no file of a storage, and nothing else is either', async () => {
    await leave('data.json')
    const names = await readdir(farthing.directory)
    const beside = [...names.filter((name) => name.startsWith('data.json')), 'data.json.lock', 'data.json.v3']
    expect(beside).toEqual(expect.arrayContaining(['data.json', 'data.json.key', 'data.json.previous']))
    await symlink('data.json.key', inDirectory('link.json'))
    const before = await contents()
    const refusal = /is a sandbox's data file|belongs to the data file \S+ of a sandbox/
    for (const file of [...beside, './data.json.key', 'link.json', 'data.json.long/0a'])
      await expect(checkTarget(inDirectory(file)), file).rejects.toThrow(refusal)
    await expect(checkTarget(inDirectory('new.json.key'), inDirectory('new.json'))).rejects.toThrow(refusal)
    for (const args of writing('data.json.key'))
      expect([args, await here(args)]).toEqual([
        args,
        { code: 2, stdout: '', stderr: expect.stringMatching(/^farthing: data\.json\.key belongs [^\n]+\n$/) },
      ])
    expect(await contents()).toEqual(before)
  })

  test('is refused before anything runs if it cannot be written', async () => {
    await leave('data.json')
    await mkdir(inDirectory('folder'))
    await expect(checkTarget(inDirectory('folder'))).rejects.toThrow(/: it is a directory$/)
    for (const args of writing('data.json/state.json'))
      expect([args, await here(args)]).toEqual([
        args,
        {
          ...{ code: 2, stdout: '' },
          stderr: 'farthing: cannot write data.json/state.json: part of its path is not a directory\n',
        },
      ])
    expect(await readdir(farthing.directory)).not.toContain('ran')
    expect(await here(['export', 'new/folder/state.json', '--data', 'data.json'])).toMatchObject({
      code: 0,
      stderr: '',
    })
  })
})

/** All files of the test's directory, with their contents. */
async function contents(): Promise<Record<string, string>> {
  const names = (await readdir(farthing.directory, { withFileTypes: true })).filter((each) => each.isFile())
  return Object.fromEntries(
    await Promise.all(names.map(async ({ name }) => [name, await readFile(inDirectory(name), 'base64')] as const)),
  )
}

/** What runs where it should not leaves a file. */
const RAN = "require('node:fs').writeFileSync('ran', '')"

/** Every command that writes a file which it is given the name of. */
const writing = (file: string): string[][] => [
  ['export', file, '--data', 'data.json'],
  ['start', '--memory', '--export-on-exit', file],
  ['exec', '--export-on-exit', file, '--', 'node', '-e', RAN],
  ['rehearse', '--junit', file, '--', 'node', '-e', RAN],
  ['rehearse', '--html', file, '--', 'node', '-e', RAN],
]
