import { randomBytes } from 'node:crypto'
import { type Handler, nodeFonts, nodeUpstream, type Served, serve } from '../adapters/node.js'
import { isLoopbackAddress, isLoopbackHost } from '../src/base/loopback.js'
import { sandboxReach } from '../src/http/reach.js'
import { type Credentials, createService, Problem, type Seed, type Service } from '../src/index.js'
import type { State, Storage } from '../src/storage/storage.js'
import { hasCode } from '../src/storage/unknown.js'
import type { Settings } from './config.js'
import { sandboxPages } from './pages/pages.js'
import { Refusal } from './refusal.js'
import { demo } from './seed/demo.js'
import { loadSeed } from './seed/load.js'
import { checkTarget, openData, openMemory, readState, writeState } from './state.js'

/** A sandbox that listens. */
export interface RunningSandbox {
  /** Where clients reach it, without a trailing slash. */
  readonly url: string
  readonly credentials: Credentials
  /** Opens the controls to callers that are not on this machine. */
  readonly controlToken: string
  /** Finishes what is running, writes what is to be exported, and closes the storage. Throws `Refusal`. */
  close(): Promise<void>
}

export interface StartOptions {
  /** Told in one line what the user should know. */
  readonly warn: (message: string) => void
}

/** Opens the state, puts a service over it and listens. Throws `Refusal`. */
export async function startSandbox(settings: Settings, { warn }: StartOptions): Promise<RunningSandbox> {
  const { data, exportOnExit } = settings
  if (exportOnExit !== undefined) await checkTarget(exportOnExit, data)
  const seed = await loadSeed(settings.seed)
  const { controlToken = randomBytes(16).toString('hex') } = settings
  const replaceBy = await stateToBegin(settings)
  let opened: Opened | undefined
  // The port first: where that is taken, no file is touched.
  const served = await listen(settings, async (address) => {
    const storage = data === undefined ? await openMemory(replaceBy) : await openData(data, { replaceBy, warn })
    const baseUrl = settings.baseUrl ?? address
    opened = { storage, ...(await assemble(storage, { ...settings, seed, controlToken, baseUrl })) }
    return opened.handler
  })
  warnOfStrangers(settings, warn)
  const { storage, service, credentials } = known(opened)
  return {
    url: service.baseUrl,
    credentials,
    controlToken,
    async close() {
      await served.close()
      try {
        if (exportOnExit !== undefined) await writeState(exportOnExit, storage)
      } finally {
        await service.close()
      }
    },
  }
}

/** Beside the built command. */
const offline = new URL('../demo/', import.meta.url)

interface Assembled {
  readonly service: Service
  readonly handler: Handler
  readonly credentials: Credentials
}

interface Opened extends Assembled {
  readonly storage: Storage
}

/** What is open once the sandbox listens. TypeScript does not see that a callback set it. */
function known(opened: Opened | undefined): Opened {
  if (!opened) throw new TypeError('the sandbox listens, and nothing was opened for it')
  return opened
}

type AssembleOptions = Pick<Settings, 'clock' | 'evidence' | 'allowOrigins' | 'allowHosts' | 'allowUpstream'> & {
  readonly seed: Seed
  readonly baseUrl: string
  readonly controlToken: string
}

async function assemble(storage: Storage, { clock, ...options }: AssembleOptions): Promise<Assembled> {
  const { baseUrl, evidence, seed, allowUpstream, controlToken, allowOrigins, allowHosts } = options
  const reach = { controlToken, allowOrigins, allowHosts }
  const ports = { upstream: nodeUpstream(), fonts: nodeFonts() }
  const service = createService({ storage, baseUrl, evidence, seed, sandbox: true, ...ports, allowUpstream, ...reach })
  try {
    await service.ready()
    if (clock !== undefined && service.sandbox.clock().mode !== clock) await service.sandbox.setClock({ mode: clock })
    const credentials = await service.sandbox.credentials()
    return { service, credentials, handler: sandboxPages({ service, demo, offline, reach: sandboxReach(reach) }) }
  } catch (error) {
    await service.close()
    if (error instanceof Problem) throw new Refusal(`the seed cannot be used: ${error.message}`, { cause: error })
    throw error
  }
}

/** What `--import` names. A file that is also written on exit need not be there yet. */
async function stateToBegin({ import: file, exportOnExit }: Settings): Promise<State | undefined> {
  if (file === undefined) return undefined
  try {
    return await readState(file)
  } catch (error) {
    if (file === exportOnExit && error instanceof Refusal && hasCode(error.cause, 'ENOENT')) return undefined
    throw error
  }
}

/** Listens; `begin` is given the address at which this machine reaches it. */
async function listen({ port, host }: Settings, begin: (address: string) => Promise<Handler>): Promise<Served> {
  try {
    return await serve((url) => begin(reachable(url)), { port, host })
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error
    const { code, syscall } = error
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error
    throw new Refusal(unheard(code, port, host), { cause: error })
  }
}

function unheard(code: unknown, port: number, host: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is taken: stop what listens there, or give another --port (0 picks a free one)`
    case 'EACCES':
      return `you have no permission to listen on port ${port}: give a --port above 1023`
    default:
      return `cannot listen on ${host} (${code}): give an address of this machine as --host`
  }
}

/** An address for all of a machine's is none to call. */
const reachable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')

/** Says what is open to others, where something is. */
function warnOfStrangers({ host, allowOrigins }: Settings, warn: StartOptions['warn']): void {
  if (!isLoopbackHost(host) && !isLoopbackAddress(host))
    warn(
      `listening on ${host}: other machines can call this sandbox by the host of --base-url or one of --allow-host; ` +
        'for the controls under /_sandbox they need the control token',
    )
  if (allowOrigins.includes('null'))
    warn('--allow-origin null lets every website call this sandbox from a sandboxed frame')
}
