import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type OutgoingHttpHeaders, type RequestOptions, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readSettings } from '../../sandbox/config.js'
import { program } from '../../sandbox/program.js'
import { routeList } from '../../scripts/route-table.js'
import { cli } from '../support/cli.js'

/** What the test reads of a service of the file. */
interface ComposeService {
  readonly image: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const path = join(root, 'deploy/compose.yaml')
const text = await readFile(path, 'utf8')
const { services, configs, volumes } = parse(text) as {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly configs: { readonly proxy: { readonly content: string } }
  readonly volumes: Readonly<Record<string, null>>
}
const processes = Object.entries(services).filter(([name]) => name.startsWith('farthing-'))
const tested = cli()
const given = { FARTHING_CONTROL_TOKEN: 'the-token', FARTHING_NAME: 'pay.example.test', POSTGRES_PASSWORD: 'secret' }

/** The value of each variable, as compose fills it in. One without a default must be set. */
const filledIn = (value: string, given: Readonly<Record<string, string>>): string =>
  value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
    const filled = given[name] ?? (kind === '-' ? rest : undefined)
    if (filled === undefined) throw new Error(`${name} is not set`)
    return filled
  })

test('the compose file has three processes over one database, behind the only port that is open', () => {
  expect(processes.map(([name]) => name)).toEqual(['farthing-1', 'farthing-2', 'farthing-3'])
  expect(Object.entries(services).flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]))).toEqual([
    ['proxy', '443:443'],
  ])
  for (const [name, { image, depends_on = {}, volumes: mounted = [] }] of Object.entries(services)) {
    expect([name, image]).toEqual([name, expect.stringMatching(/^[a-z]+:\d+\.\d+/)])
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      expect(condition).toBe('service_healthy')
      // The proxy is healthy as long as it runs; nobody waits for it.
      expect(services[needed]?.healthcheck).toBeDefined()
    }
    for (const mount of mounted) expect(Object.keys(volumes)).toContain(mount.split(':')[0])
  }
  for (const [, { build }] of processes)
    expect(existsSync(join(dirname(path), build?.context ?? '', build?.dockerfile ?? 'absent'))).toBe(true)
  const { content } = configs.proxy
  expect(/reverse_proxy (.*) \{/.exec(content)?.[1]?.split(' ')).toEqual(processes.map(([name]) => `${name}:4242`))
  expect(routeList.map((route) => route.path)).toContain(/health_uri (\S+)/.exec(content)?.[1])
})

test('its secrets come from variables that must be set', () => {
  const secrets = Object.values(services).flatMap(({ environment = {} }) =>
    Object.entries(environment).filter(([name]) => /TOKEN|PASSWORD|DATABASE/.test(name)),
  )
  expect(secrets).toHaveLength(7)
  for (const [, value] of secrets) expect(() => filledIn(value, {})).toThrow('is not set')
  expect([...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name)).toEqual([
    'POSTGRES_PASSWORD',
    'FARTHING_CONTROL_TOKEN',
  ])
})

test('every flag and variable of its processes is one of the command line', async () => {
  const settingsOf = (environment: Record<string, string>) =>
    readSettings({ flags: {}, environment, directory: '/nowhere' })
  const start = program().commands.find((command) => command.name() === 'start')
  for (const [name, { command = [], environment = {} }] of processes) {
    const [first, ...args] = command
    expect([name, first]).toEqual([name, 'start'])
    const { operands, unknown } = start?.parseOptions(args) ?? { operands: args, unknown: args }
    expect([name, operands, unknown]).toEqual([name, [], []])
    for (const [variable, value] of Object.entries(environment))
      expect([variable, await settingsOf({ [variable]: filledIn(value, given) })]).not.toEqual([
        variable,
        await settingsOf({}),
      ])
  }
})

test('such a process answers the proxy and Prometheus by its name, and gives its controls to the token alone', async () => {
  const [, { command = [], environment = {}, healthcheck }] = processes[1] ?? ['', services.none as ComposeService]
  const filled = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, filledIn(value, given)]))
  const { FARTHING_DATABASE: database = '', ...env } = filled
  expect(new URL(database).hostname).toBe('database')
  const args = command.slice(1).map((word) => filledIn(word, given))
  const port = await freePort()
  const sandbox = await tested.start([...args, '--memory', '--port', String(port)], { env })
  expect(sandbox.url).toBe('https://pay.example.test')
  const ask = (target: string, headers: OutgoingHttpHeaders) => statusOf({ port, path: target, headers })
  const passedOn = { host: 'pay.example.test', 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
  expect(await ask('/readyz', { host: 'farthing-2:4242' })).toBe(200)
  expect(await ask('/readyz', { host: 'farthing-2.example.test' })).toBe(421)
  expect(await ask('/v4/dq', passedOn)).toBe(200)
  for (const control of ['/metrics', '/_sandbox/ledger']) {
    expect(await ask(control, passedOn)).toBe(403)
    expect(await ask(control, { ...passedOn, 'x-control-token': 'the-token' })).toBe(200)
    expect(await ask(control, { host: 'farthing-2:4242', authorization: 'Bearer the-token' })).toBe(200)
  }
  const [, node = '', ...check] = healthcheck?.test ?? []
  expect(node).toBe('node')
  const checkAt = (at: number) =>
    spawnSync(
      process.execPath,
      check.map((word) => word.replace('4242', String(at))),
    ).status
  expect(checkAt(port)).toBe(0)
  await sandbox.stop()
  expect(checkAt(port)).toBe(1)
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })

/** `fetch` does not let a caller set Host. */
const statusOf = (options: RequestOptions): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    sent.once('error', reject).end()
  })
