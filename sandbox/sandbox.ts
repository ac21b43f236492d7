import { randomBytes } from 'node:crypto'
import { type Handler, nodeFonts, nodeUpstream, type Served, serve } from '../adapters/node.js'
import { withoutUndefined } from '../src/base/json.js'
import { isLoopbackAddress, isLoopbackHost } from '../src/base/loopback.js'
import type { Limits } from '../src/http/limits.js'
import { type Credentials, createService, Problem, type Seed, type Service } from '../src/index.js'
import { sandboxAccess } from '../src/sandbox/onion/access.js'
import type { Entry } from '../src/sandbox/onion/entry.js'
import { isOnlyLocal } from '../src/sandbox/onion/guard.js'
import type { State, Storage } from '../src/storage/storage.js'
import { hasCode } from '../src/storage/unknown.js'
import type { Settings } from './config.js'
import { sandboxPages } from './pages/pages.js'
import { loadSeed, Refusal } from './refusal.js'
import { writeRunFile } from './run-file.js'
import { demo } from './seed/demo.js'
import { checkTarget, openStorage, readState, writeState } from './state.js'

export interface RunningSandbox {
  /** Where clients reach it, without a trailing slash. */
  readonly url: string
  readonly credentials: Credentials
  /** Opens the controls to callers that are not on this machine. */
  readonly controlToken: string
  /** Whether callers on this machine need the control token too. */
  readonly isGuarded: boolean
  /** Whether the stored state lacks accounts or users of the seed: it began with another one. */
  readonly isOfOtherSeed: boolean
  /** The service itself, which this process calls without a token. */
  readonly service: Pick<Service, 'fetch' | 'sandbox'>
  /** The requests as they end, until it closes. Empty without a journal. */
  requests(): AsyncIterable<Entry>
  /** Finishes running requests, writes the export, and closes the storage. Throws `Refusal`, `StorageUnavailable`. */
  close(): Promise<void>
}

type StartOptions = { readonly warn: (message: string) => void }

/** Opens the state, creates a service over it and listens. Throws `Refusal`. */
export async function startSandbox(settings: Settings, { warn }: StartOptions): Promise<RunningSandbox> {
  const { data, database, exportOnExit } = settings
  if (exportOnExit !== undefined) await checkTarget(exportOnExit, data)
  const seed = await loadSeed(settings.seed)
  const { controlToken = randomBytes(16).toString('hex'), allowOrigins, allowHosts } = settings
  const replaceBy = await readInitialState(settings)
  let opened: Opened | undefined
  // Listens first, so that no file changes if the port is taken.
  const served = await listen(settings, async (address) => {
    const storage = await openStorage(settings, { replaceBy, warn })
    opened = await assemble(storage, { ...settings, seed, controlToken, baseUrl: settings.baseUrl ?? address })
    return opened.handler
  })
  warnOfExposure(settings, warn)
  const { storage, service, credentials } = opened as unknown as Opened // TypeScript does not see that a callback set it.
  const { baseUrl: url } = service
  const isGuarded = !isOnlyLocal({ baseUrl: url, sandbox: { controlToken, allowOrigins, allowHosts } })
  const address = reachableUrl(served.url)
  const removeRunFile = await writeRunFile({ url, address, controlToken, directory: process.cwd() }, process.env)
  // Closing ends it.
  if (data !== undefined || database !== undefined) auditOpened(service, warn).catch(() => {})
  return {
    url,
    credentials,
    controlToken,
    isGuarded,
    isOfOtherSeed: isOfOtherSeed(seed, credentials),
    service,
    requests: () => (settings.journalEntries === 0 ? noEntries() : service.sandbox.requests.follow()),
    async close() {
      // What the service waits for may not keep the process alive.
      const staying = setInterval(() => {}, 60_000)
      const began = performance.now()
      try {
        await removeRunFile()
        await served.close()
        if (exportOnExit !== undefined) await writeState(exportOnExit, storage)
      } finally {
        const withinMs = Math.max(CLOSE_MS - (performance.now() - began), 0)
        await service.close({ withinMs }).finally(() => clearInterval(staying))
      }
    },
  }
}

function isOfOtherSeed({ accounts = [], users = [] }: Seed, known: Credentials): boolean {
  const [names, emails] = [known.accounts.map(({ name }) => name), known.users.map(({ email }) => email)]
  return accounts.some(({ name }) => !names.includes(name)) || users.some(({ email }) => !emails.includes(email))
}

async function* noEntries(): AsyncGenerator<Entry> {}

/** Audits the ledger of a state that was opened, in slices between calls. Only an edit by hand or a defect breaks it. */
async function auditOpened(service: Service, warn: StartOptions['warn']): Promise<void> {
  const { broken } = await service.sandbox.ledger()
  if (broken) warn(`the ledger of this state is broken: ${broken.rule}. Stop the sandbox, and run farthing verify.`)
}

/** How long closing may take, for the server and the service together. */
const CLOSE_MS = 10_000
/** The folder of the built demo, next to the built command. */
const built = new URL('../demo/', import.meta.url)

type Opened = Awaited<ReturnType<typeof assemble>>
type Assembling = Settings & { readonly seed: Seed; readonly baseUrl: string; readonly controlToken: string }

async function assemble(storage: Storage, settings: Assembling) {
  const { baseUrl, evidence, balances, seed, allowUpstream, trustProxy, chargeOnUpstreamError, clock } = settings
  const { controlToken, allowOrigins, allowHosts, twinDomain, accountCreation, encryptionKey } = settings
  const reach = { controlToken, allowOrigins, allowHosts }
  const limits = { closeMs: CLOSE_MS, ...settings.limits } as Partial<Limits> // Limits that are there are never undefined.
  const journal = withoutUndefined({ entries: settings.journalEntries, bytes: settings.journalBytes })
  const service = createService({
    ...{ storage, baseUrl, evidence, balances, seed, limits, journal, ...reach },
    ...{ allowUpstream, trustProxy, chargeOnUpstreamError, sandbox: true },
    ...withoutUndefined({ twinDomain, accountCreation, encryptionKey }),
    ...{ upstream: nodeUpstream(), fonts: nodeFonts() },
  })
  try {
    await service.ready()
    if (clock !== undefined && service.sandbox.clock().mode !== clock) await service.sandbox.setClock({ mode: clock })
    if (settings.fresh) await service.sandbox.reset({ clear_journal: true })
    const credentials = await service.sandbox.credentials()
    const handler = sandboxPages({ service, demo, built, reach: sandboxAccess(reach) })
    return { storage, service, credentials, handler }
  } catch (error) {
    await service.close()
    if (error instanceof Problem) throw new Refusal(`cannot use the seed: ${error.message}`, { cause: error })
    throw error
  }
}

/** Reads the file that `--import` names. If it is also the file to write on exit, it need not exist yet. */
async function readInitialState({ import: file, exportOnExit }: Settings): Promise<State | undefined> {
  if (file === undefined) return undefined
  try {
    return await readState(file)
  } catch (error) {
    if (file === exportOnExit && error instanceof Refusal && hasCode(error.cause, 'ENOENT')) return undefined
    throw error
  }
}

/** Listens. `begin` gets the address at which this machine reaches the sandbox. */
async function listen({ port, host }: Settings, begin: (address: string) => Promise<Handler>): Promise<Served> {
  try {
    return await serve((url) => begin(reachableUrl(url)), { port, host, closeMs: CLOSE_MS })
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error
    const { code, syscall } = error
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error
    throw new Refusal(listenFailure(code, port, host), { cause: error })
  }
}

function listenFailure(code: unknown, port: number, host: string): string {
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use: stop the program that uses it, or choose another --port (0 picks a free one)`
  if (code === 'EACCES') return `no permission to listen on port ${port}: choose a --port above 1023`
  return `cannot listen on ${host} (${code}): set --host to an address of this machine`
}

/** Replaces "every address of this machine" by one that clients can call. */
const reachableUrl = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')

function warnOfExposure({ host, allowOrigins }: Settings, warn: StartOptions['warn']): void {
  if (!isLoopbackHost(host) && !isLoopbackAddress(host))
    warn(
      `listening on ${host}: other machines can call this sandbox at the host of --base-url or --allow-host. ` +
        'They need the control token for the controls under /_sandbox.',
    )
  if (allowOrigins.includes('null'))
    warn('--allow-origin null lets every website call this sandbox from a sandboxed frame.')
}
