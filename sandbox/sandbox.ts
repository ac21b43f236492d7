import { type Handler, type Served, serve } from '../adapters/node.js'
import type { Seed } from '../src/controls/seed-schema.js'
import { createService, Problem, type Service } from '../src/index.js'
import { systemRandom } from '../src/ports.js'
import { keyring } from '../src/secrets.js'
import type { Settings } from './config.js'
import { type Credentials, fixCredentials, knownCredentials } from './credentials.js'
import { sandboxPages } from './pages/pages.js'
import { Refusal } from './refusal.js'
import { demo } from './seed/demo.js'
import { loadSeed } from './seed/load.js'
import { checkTarget, type Exported, type Opened, openData, openMemory, readState, writeState } from './state.js'

/** A sandbox that listens. */
export interface RunningSandbox {
  /** Where clients reach it, without a trailing slash. */
  readonly url: string
  readonly credentials: Credentials
  /** Finishes what is running, writes what is to be exported, and closes the storage. Throws `Refusal`. */
  close(): Promise<void>
}

export interface StartOptions {
  /** Gives data whose key is missing a new one. */
  readonly newKey?: boolean | undefined
  /** Told in one line what the user should know. */
  readonly warn: (message: string) => void
}

/** Opens the state, puts a service over it and listens. Throws `Refusal`. */
export async function startSandbox(settings: Settings, { newKey, warn }: StartOptions): Promise<RunningSandbox> {
  const { data, host, exportOnExit } = settings
  if (exportOnExit !== undefined) await checkTarget(exportOnExit, data)
  const seed = await loadSeed(settings.seed)
  const replaceBy = await stateToBegin(settings)
  let opened: Opened | undefined
  let assembled: Assembled | undefined
  // The port first: where that is taken, no file is touched.
  const served = await listen(settings, async (address) => {
    opened = data === undefined ? await openMemory(replaceBy) : await openData(data, { replaceBy, newKey, warn })
    assembled = await assemble(opened, { ...settings, seed, baseUrl: settings.baseUrl ?? address })
    return assembled.handler
  })
  if (!isLoopback(host)) warn(`listening on ${host}, but the controls under /_sandbox answer only this machine`)
  const { service, credentials, url } = assembled as unknown as Assembled
  return {
    url,
    credentials,
    async close() {
      await served.close()
      try {
        if (exportOnExit !== undefined) await writeState(exportOnExit, opened as Opened)
      } finally {
        await service.close()
      }
    },
  }
}

interface Assembled {
  readonly url: string
  readonly service: Service
  readonly handler: Handler
  readonly credentials: Credentials
}

type AssembleOptions = Pick<Settings, 'clock' | 'evidence'> & { readonly seed: Seed; readonly baseUrl: string }

async function assemble(
  { storage, key }: Opened,
  { clock, evidence, baseUrl, ...given }: AssembleOptions,
): Promise<Assembled> {
  const keys = keyring(key, systemRandom)
  const seed = fixCredentials(given.seed, keys)
  const service = createService({ storage, encryptionKey: key, baseUrl, evidence, seed, sandbox: true })
  try {
    await service.ready()
    if (clock !== undefined && service.sandbox.clock().mode !== clock) await service.sandbox.setClock({ mode: clock })
    const credentials = await knownCredentials(seed, storage, keys)
    const url = baseUrl.replace(/\/+$/, '')
    return { url, service, credentials, handler: sandboxPages({ service, demo, baseUrl: url }) }
  } catch (error) {
    await service.close()
    if (error instanceof Problem) throw new Refusal(`the seed cannot be used: ${error.message}`, { cause: error })
    throw error
  }
}

/** What `--import` names. A file that is also written on exit need not be there yet. */
async function stateToBegin({ import: file, exportOnExit }: Settings): Promise<Exported | undefined> {
  if (file === undefined) return undefined
  try {
    return await readState(file)
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException }
    if (file === exportOnExit && cause?.code === 'ENOENT') return undefined
    throw error
  }
}

/** Listens; `begin` is given the address at which this machine reaches it. */
async function listen({ port, host }: Settings, begin: (address: string) => Promise<Handler>): Promise<Served> {
  try {
    return await serve((url) => begin(reachable(url)), { port, host })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error
    throw new Refusal(unheard(code, port, host), { cause: error })
  }
}

function unheard(code: string | undefined, port: number, host: string): string {
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

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
