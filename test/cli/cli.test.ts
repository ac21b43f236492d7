import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { VERSION } from '../../src/index.js'
import { caller } from '../support/api.js'
import { cli, type Ended, type Sandbox } from '../support/cli.js'
import { readWire, sendLines } from '../support/contract/wire.js'
import { howMuch } from '../support/how-much.js'
import { runHere } from '../support/run-here.js'
import { balanceOf, newPayer, tokenFor } from '../support/scenes/world.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()
const { start } = farthing

const inDirectory = (file: string) => join(farthing.directory, file)
const write = (file: string, content: unknown) =>
  writeFile(inDirectory(file), typeof content === 'string' ? content : JSON.stringify(content))
const calling = ({ url }: Pick<Sandbox, 'url'>) => caller({ url, fetch, close: async () => {} })

/** For tests that are not about the process. */
const here = (args: readonly string[]) => runHere(args, farthing.directory)
const DATA = '.farthing/data.json'
/** A sandbox in this process, over the data file of the test. */
const startedHere = (flags: Readonly<Record<string, unknown>> = {}) => startHere({ data: inDirectory(DATA), ...flags })

function accountToken(sandbox: Pick<Sandbox, 'url' | 'accounts'>): Promise<string> {
  const [account] = sandbox.accounts
  return tokenFor(calling(sandbox), account?.client_id ?? '', account?.client_secret ?? '')
}

/** One line on stderr, nothing on stdout, exit code 2. */
function expectRefusal({ code, stdout, stderr }: Omit<Ended, 'signal'>, line: RegExp): void {
  expect(stderr).toMatch(/^farthing: [^\n]+\n$/)
  expect(stderr).toMatch(line)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
}

interface UnderWay {
  /** Sends the body; gives the status of the answer, or `broken off`. */
  finish(body: object): Promise<number | 'broken off'>
}

/** A request that the service has taken, and whose body is still to come. */
async function underWay(sandbox: Sandbox, method: string, path: string): Promise<UnderWay> {
  const authorization = `Bearer ${await accountToken(sandbox)}`
  const headers = { authorization, 'content-type': 'application/json', expect: '100-continue' }
  const sent = request(`${sandbox.url}${path}`, { method, headers })
  const answered = new Promise<number | 'broken off'>((resolve) => {
    sent.once('response', (answer) => resolve(answer.resume().statusCode ?? 0))
    sent.once('error', () => resolve('broken off'))
  })
  sent.flushHeaders()
  await new Promise((resolve) => sent.once('continue', resolve))
  return {
    finish(body) {
      sent.end(JSON.stringify(body))
      return answered
    },
  }
}

const refusesConnections = (url: string) =>
  expect
    .poll(
      () =>
        fetch(url).then(
          () => 'answers',
          () => 'refuses',
        ),
      { interval: 20, timeout: 10_000 },
    )
    .toBe('refuses')

/** Another server on a port of its own. */
async function withTakenPort(test: (port: number) => Promise<void>): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  try {
    await test((server.address() as AddressInfo).port)
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}

/** At its end a sandbox unlocks its data, which are whole. */
async function expectStopped({ code, signal }: Ended): Promise<void> {
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  expect(existsSync(inDirectory(`${DATA}.lock`))).toBe(false)
  const [, end] = (await readFile(inDirectory(DATA), 'utf8')).trimEnd().split(/\n(?=[^\n]*$)/)
  expect(JSON.parse(String(end))).toMatchObject({ end: 'data' })
}

describe('start', () => {
  test('prints its address and working credentials as one line of JSON, and ends with 0 at a SIGTERM', async () => {
    const sandbox = await start()
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(sandbox).toMatchObject({ dashboard: `${sandbox.url}/`, data: '.farthing/data.json', pid: sandbox.child.pid })
    expect((await fetch(sandbox.dashboard)).status).toBeLessThan(500)
    const call = calling(sandbox)
    expect((await call('GET', '/_sandbox/health')).body).toMatchObject({ ok: true, storage: 'file', version: VERSION })
    for (const { client_id, client_secret } of [...sandbox.accounts, ...sandbox.users])
      expect(await tokenFor(call, client_id, client_secret)).toMatch(/^tqmt_/)
    const ended = await sandbox.stop('SIGTERM')
    const { stdout, stderr } = ended
    await expectStopped(ended)
    expect({ lines: stdout.split('\n').length, stderr }).toEqual({ lines: 2, stderr: '' })
  })

  test('answers running requests before it ends, and writes nothing with --memory', async () => {
    const sandbox = await start(['--memory'])
    expect(sandbox.data).toBeNull()
    const slow = await underWay(sandbox, 'POST', '/v4/user')
    const ended = sandbox.stop()
    await refusesConnections(sandbox.url)
    expect(await slow.finish({ email: 'slow@example.test' })).toBe(201)
    expect(await ended).toMatchObject({ code: 0 })
    expect(existsSync(inDirectory('.farthing'))).toBe(false)
  })

  const codes = [['SIGINT', 130] as const, ['SIGTERM', 143] as const]

  test.each(howMuch(codes.slice(0, 1), codes))('ends at once at a second signal: %s with %i', async (signal, code) => {
    const sandbox = await start(['--memory'])
    const slow = await underWay(sandbox, 'POST', '/v4/user')
    sandbox.child.kill(signal)
    await refusesConnections(sandbox.url)
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(await sandbox.stop(signal)).toMatchObject({ code })
    expect(await slow.finish({})).toBe('broken off')
  })

  test('ends with 0 at a SIGHUP too, and finishes what runs at a second one', async () => {
    const sandbox = await start()
    const slow = await underWay(sandbox, 'POST', '/v4/user')
    sandbox.child.kill('SIGHUP')
    await refusesConnections(sandbox.url)
    await new Promise((resolve) => setTimeout(resolve, 150))
    sandbox.child.kill('SIGHUP')
    expect(await slow.finish({ email: 'hung-up@example.test' })).toBe(201)
    await expectStopped(await sandbox.ended)
  })

  test('has the same state, credentials and tokens after a restart, and after a kill', async () => {
    const first = await startedHere()
    const call = calling(first)
    const token = await accountToken({ url: first.url, ...first.credentials })
    const payer = await newPayer(call, { token } as never, { balance: 5 })
    const twins = (await call('GET', '/v4/twins', { token })).body
    await first.close()

    const second = await start()
    expect(second).toMatchObject(first.credentials)
    expect(await accountToken(second)).toBe(token)
    expect((await calling(second)('GET', '/v4/twins', { token })).body).toEqual(twins)
    await second.stop('SIGKILL')

    const third = await startedHere()
    expect(await balanceOf(calling(third), payer.token, payer.hostname)).toBe(5)
  })

  test('prints the credentials that a seed leaves open, and the same ones after a reset', async () => {
    await write('seed.json', { accounts: [{ name: 'A' }, { name: 'A' }], users: [{ email: 'u@example.test' }] })
    const sandbox = await startedHere({ seed: inDirectory('seed.json') })
    const { accounts, users } = sandbox.credentials
    expect(accounts.map(({ name }) => name)).toEqual(['A', 'A'])
    const call = calling(sandbox)
    await call('POST', '/_sandbox/reset')
    for (const { client_id, client_secret } of [...accounts, ...users])
      expect(await tokenFor(call, client_id, client_secret)).toMatch(/^tqmt_/)
  })

  /** What a sandbox prints for people while it answers three requests, of which the workbench sends one. */
  async function said(...flags: string[]): Promise<string> {
    const { child, ended } = farthing.spawn(['--port', '0', ...flags])
    let said = ''
    child.stdout?.on('data', (text) => (said += text))
    await expect.poll(() => said).toContain('Press Ctrl+C')
    const [url] = /http:\S+:\d+/.exec(said) ?? []
    const ask = (headers = {}) => fetch(`${url}/v4/account`, { headers })
    expect((await ask()).status).toBe(401)
    await ask({ 'x-farthing-tool': 'workbench' })
    await fetch(`${url}/v4/dq`)
    if (!flags.includes('--quiet')) await expect.poll(() => said).toContain('listDigitalQuantities')
    child.kill('SIGTERM')
    return (await ended).stdout
  }
  const requestsIn = (text: string) => text.split('\n').filter((line) => /^\d\d:\d\d:\d\d/.test(line))

  test('prints the same for people, without colours if there is no terminal, and a line for each request', async () => {
    const stdout = await said('--memory')
    expect(stdout.split('\n')[0]).toBe(`farthing ${VERSION} is listening`)
    expect(stdout).toMatch(/^ {2}address +http:\/\/127\.0\.0\.1:\d+$/m)
    expect(stdout).toMatch(/^ {2}workbench +http:\/\/127\.0\.0\.1:\d+\/$/m)
    expect(stdout).toMatch(/^ {2}control_token +[0-9a-f]{32}$/m)
    expect(stdout).toMatch(/^ {2}client_secret +mc_[0-9a-f]{32}$/m)
    expect(stdout).not.toContain('\u001b')
    const [refused, ...others] = requestsIn(stdout)
    expect(refused).toMatch(/^\d\d:\d\d:\d\d {2}GET {2}readAccount {2}401 authorization_missing {2}[\d.]+ ms$/)
    expect(others.filter((line) => line.includes('readAccount'))).toEqual([])
  })

  test('begins with its seed again after farthing reset, and with --fresh', async () => {
    const first = await startedHere({ seed: 'none' })
    const call = calling(first)
    expect((await call('POST', '/v4/account')).status).toBe(201)
    expect(await here(['reset', '--url', first.url])).toMatchObject({
      code: 0,
      stdout: `${first.url} is reset to its seed.\n`,
    })
    expect((await call('GET', '/_sandbox/rows/accounts')).body.rows).toEqual([])
    await first.close()
    const fresh = await startedHere({ seed: 'demo', fresh: true })
    expect(fresh.credentials.accounts.map(({ name }) => name)).toEqual(['The Daily Farthing'])
  })

  test('prints no credentials that the data does not have, and no line for a request with --quiet', async () => {
    await (await startedHere({ seed: 'none' })).close()
    const sandbox = await startedHere({ seed: 'demo' })
    expect(sandbox.credentials).toMatchObject({ accounts: [], users: [] })
    await sandbox.close()
    const stdout = await said('--quiet')
    expect(stdout).toContain('The stored state began with another seed')
    expect(requestsIn(stdout)).toEqual([])
  })

  test('keeps a manual clock over restarts, and stops time with --clock manual', async () => {
    const first = await startedHere({ clock: 'manual' })
    const { now } = (await calling(first)('POST', '/_sandbox/clock', { body: { advance: '30d' } })).body
    await first.close()
    const second = await startedHere()
    expect((await calling(second)('GET', '/_sandbox/clock')).body).toEqual({ mode: 'manual', now })
    await second.close()
    const third = await startedHere({ clock: 'manual' })
    expect((await calling(third)('GET', '/_sandbox/clock')).body).toEqual({ mode: 'manual', now })
    await third.close()
    const fourth = await startedHere({ clock: 'real' })
    expect((await calling(fourth)('GET', '/_sandbox/clock')).body.mode).toBe('real')
  })

  test('makes the data private', async () => {
    await startedHere()
    const names = await readdir(inDirectory('.farthing'))
    expect(names).toEqual(expect.arrayContaining(['data.json', expect.stringContaining('.journal.'), 'data.json.key']))
    for (const name of names) expect((await stat(inDirectory(`.farthing/${name}`))).mode & 0o777).toBe(0o600)
  })

  test('refuses by --evidence', async () => {
    const strict = await startHere({ memory: true, evidence: 'documented' })
    const call = caller({ url: strict.url, fetch, evidence: 'documented' })
    const refused = await call('GET', '/v4/payments', { token: 'none' })
    expect(refused.body.code).toBe('evidence_refused')
  })

  test('warns once if other machines can reach it', async () => {
    const sandbox = await startHere({ memory: true, host: '0.0.0.0' })
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:/)
    await sandbox.close()
    expect(sandbox.warnings).toEqual([
      expect.stringMatching(/^listening on 0\.0\.0\.0: other machines .* need the control token .*$/),
    ])
  })

  test('lets in the callers that its flags name, and prints the control token', async () => {
    const sandbox = await startHere({
      memory: true,
      allowOrigin: ['http://shop.test:8080', 'HTTPS://Shop.Test/'],
      allowHost: ['box'],
      controlToken: 'mine-alone',
    })
    const ask = async (headers: string[]) => {
      const lines = ['POST /_sandbox/clock HTTP/1.1', 'Connection: close', 'Content-Type: application/json', ...headers]
      return readWire(await sendLines(sandbox.url, [...lines, 'Content-Length: 13'], '{"advance":0}')).status
    }
    const token = `X-Control-Token: ${sandbox.controlToken}`
    expect(await ask(['Host: box', 'Origin: https://shop.test', token])).toBe(200)
    expect(await ask(['Host: localhost', 'Origin: http://shop.test:8080', token])).toBe(200)
    expect(await ask(['Host: other', token])).toBe(421)
    // A tunnel may lead to the name box, and sends any Host.
    for (const host of ['box', 'localhost']) expect(await ask([`Host: ${host}`])).toBe(403)
    expect(await ask(['Host: box', 'X-Forwarded-For: 10.0.0.7', token])).toBe(200)
    expect(sandbox.controlToken).toBe('mine-alone')
    // A command of the same user finds the token.
    const listed = await here(['requests', '--url', sandbox.url, '--limit', '1'])
    expect([listed.code, listed.stderr]).toEqual([0, ''])
    const [one, other] = [await startHere({ memory: true }), await startHere({ memory: true })]
    expect(one.controlToken).toMatch(/^[0-9a-f]{32}$/)
    expect(other.controlToken).not.toBe(one.controlToken)
  })

  test('prints --base-url, and opens the dashboard there with --open', async () => {
    await mkdir(inDirectory('bin'))
    for (const name of ['xdg-open', 'open']) {
      await write(`bin/${name}`, `#!/bin/sh\necho "$1" > "${inDirectory('opened')}"\n`)
      await chmod(inDirectory(`bin/${name}`), 0o755)
    }
    const env = { PATH: `${inDirectory('bin')}:${process.env.PATH}` }
    const sandbox = await start(['--memory', '--open', '--base-url', 'https://pay.example.test/'], { env })
    expect(sandbox).toMatchObject({
      url: 'https://pay.example.test',
      dashboard: expect.stringMatching(/^https:\/\/pay\.example\.test\/\?control_token=[0-9a-f]{32}$/),
    })
    await expect.poll(() => readFile(inDirectory('opened'), 'utf8').catch(() => '')).toBe(`${sandbox.dashboard}\n`)
  })
})

describe('refuses invalid input in one line, with exit code 2', () => {
  test('a port in use, before it touches any file', () =>
    withTakenPort(async (port) => {
      expectRefusal(await here(['--port', String(port)]), new RegExp(`port ${port} on 127.0.0.1 is in use: .*--port`))
      expect(existsSync(inDirectory('.farthing'))).toBe(false)
    }))

  test('an address of another machine', async () => {
    expectRefusal(await here(['--port', '0', '--host', '192.0.2.1']), /cannot listen on 192\.0\.2\.1 .*--host/)
  })

  test.each([
    [['--prot', '1'], /unknown option '--prot'.*--port/],
    [['strat'], /unknown command "strat"/],
    [['start', 'now'], /unknown command "now"/],
    [['--port', 'many'], /--port must be a number from 0 to 65535, not "many"/],
    [['--port', '65536'], /--port must be a number from 0 to 65535, not 65536/],
    [['--port'], /argument missing/],
    [['--clock', 'slow'], /--clock must be real or manual, not "slow"/],
    [['--evidence', 'none'], /--evidence must be documented, observed, named or designed/],
    [['--base-url', 'ftp://x'], /--base-url must be an http or https URL/],
    [['--memory', '--data', 'x.json'], /--memory and --data contradict/],
    [
      ['--database', 'postgres://u:secret@127.0.0.1:1/x'],
      /cannot connect to the database u@127\.0\.0\.1:1\/x: nothing listens/,
    ],
    [['--database', 'mysql://u:secret@db.example.test/x'], /the URL of a database looks like postgres:\/\//],
    [['--seed', 'missing.json'], /cannot read missing\.json: no such file/],
    [['--import', 'missing.json'], /cannot read missing\.json: no such file/],
    [['exec'], /missing required argument/],
    [['export'], /missing required argument/],
    [['export', 'x.json'], /no data file at \.farthing\/data\.json/],
    [['import', 'missing.json'], /cannot read missing\.json/],
  ])('%j', async (args, line) => {
    expectRefusal(await here(args), line)
    expect(existsSync(inDirectory('.farthing'))).toBe(false)
  })

  test('an invalid environment or config file', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('PORT', 'x')
    expectRefusal(await here([]), /PORT must be a number from 0 to 65535, not "x"/)
    vi.stubEnv('PORT', '0')
    vi.stubEnv('FARTHING_MEMORY', 'perhaps')
    expectRefusal(await here([]), /FARTHING_MEMORY must be true or false/)
    vi.unstubAllEnvs()
    await write('farthing.config.json', { prot: 1 })
    expectRefusal(await here([]), /unknown setting "prot" in farthing\.config\.json\. Did you mean "port"\?/)
    await write('farthing.config.json', { prot: 1, sed: 'demo' })
    expectRefusal(
      await here([]),
      /mean "port"\? unknown setting "sed" in farthing\.config\.json\. Did you mean "seed"\?/,
    )
    await write('farthing.config.json', '{ port: 1 }')
    expectRefusal(await here([]), /farthing\.config\.json is not JSON: /)
  })

  test('a seed, with the name of the wrong field', async () => {
    const refused = async (seed: unknown, line: RegExp) => {
      await write('seed.json', seed)
      expectRefusal(await here(['--port', '0', '--seed', 'seed.json']), line)
    }
    await refused('{', /seed\.json is not JSON/)
    await refused({ accounts: [{ name: 'A', balance: '3' }] }, /seed\.json: accounts\[0\]\.balance must be a number/)
    await refused({ accounts: [{ name: 'A', client_id: 'x' }] }, /seed\.json: accounts\[0\]\.client_id must be .*mid_/)
    await refused({ comodities: [] }, /seed\.json: comodities is not a field. Did you mean "commodities"\?/)
    await refused({ users: [{ email: 'a@example.test', blance: 1 }] }, /users\[0\]\.blance is not a field/)
    await refused({ commodities: [{ account: 'B', descriptor: 'X', cost: 1 }] }, /cannot use the seed: .*"?B/)
  })

  test('data that another process uses, which goes on until a SIGINT', async () => {
    const sandbox = await start()
    expectRefusal(await here(['--port', '0']), new RegExp(`in use by process ${sandbox.child.pid} `))
    expectRefusal(await here(['export', 'x.json']), /in use by process/)
    await write('state.json', { counters: {}, rows: {} })
    expectRefusal(await here(['import', 'state.json']), /in use by process/)
    expect((await calling(sandbox)('GET', '/_sandbox/ledger')).body.ok).toBe(true)
    await expectStopped(await sandbox.stop('SIGINT'))
  })

  test('a damaged data file, which stays unchanged', async () => {
    await write('data.json', 'precious notes')
    expectRefusal(await here(['--port', '0', '--data', 'data.json']), /data\.json: this is not a state/)
    expect(await readFile(inDirectory('data.json'), 'utf8')).toBe('precious notes')
    expectRefusal(await here(['--port', '0', '--data', '.']), /cannot store data in \.: it is not a regular file/)
    expectRefusal(await here(['--port', '0', '--data', 'data.json/x']), /cannot use the data file data\.json\/x: /)
  })
})
