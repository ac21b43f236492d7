import { runInBackground } from './background.js'
import { UPSTREAM_EXPECTED, upstreamList } from './base/ip-address.js'
import { load } from './base/load.js'
import { LimitedMap } from './base/memo.js'
import { Parts } from './base/parts.js'
import { consoleLog, systemAlarm, systemClock, systemRandom, systemUpstream } from './base/ports.js'
import { required } from './base/required.js'
import { checkWebCrypto, keyring, randomHex } from './base/secrets.js'
import { SharedPlaces } from './base/shared-places.js'
import { collections } from './collections.js'
import type { AssemblyOptions } from './composition/assembly-options.js'
import { recordDeadLetter } from './composition/dead-letter-events.js'
import { onDisconnect, onFirstProof, onSignIn } from './composition/sign-in.js'
import { authenticate } from './consent/callers/caller.js'
import { features } from './features.js'
import type { NamedSnapshot, PastMoment, SeededClient, ServiceContext } from './http/context.js'
import { ServiceEnding } from './http/ending.js'
import type { OutwardPorts } from './http/faults.js'
import { HeldBodies } from './http/fields/held-bodies.js'
import type { FetchSource } from './http/incoming.js'
import { defaultLimits } from './http/limits.js'
import { RouteTable } from './http/routing/router.js'
import { sandboxAccess } from './http/sandbox-access.js'
import { WaitingRequests } from './http/waiting-requests.js'
import { webFetch } from './http/web-fetch.js'
import { sessions } from './identity/sessions/session.js'
import { clients } from './identity/tokens/client.js'
import { tokens } from './identity/tokens/token.js'
import { countNew } from './identity/users/new-per-day.js'
import { responsibleFor } from './identity/users/responsible.js'
import { countStored } from './identity/users/stored-bytes.js'
import { generationOf, users } from './identity/users/user.js'
import { type DeadLetter, listDeadLetters, retryDeadLetter } from './jobs/dead-letters/dead-letter.js'
import { events } from './jobs/events/event.js'
import { outbox } from './jobs/outbox/outbox.js'
import { checkForSale, isSoldByItem } from './market/catalog/for-sale.js'
import { schemaHistory } from './migrations/schema.js'
import { testProcessor } from './money/cards/test-processor.js'
import { checkOptions } from './options.js'
import { begin } from './sandbox/controls/bootstrap.js'
import { sandboxClock } from './sandbox/controls/clock.js'
import { inherit, settleFork } from './sandbox/controls/forks/inherit.js'
import { ServedForks } from './sandbox/controls/forks/served-forks.js'
import { createSandbox, type Sandbox } from './sandbox/controls/sandbox.js'
import { seedLoader } from './sandbox/controls/seed/seed.js'
import { type SnapshotControls, snapshotControls } from './sandbox/controls/snapshots/controls.js'
import { armAtStart } from './sandbox/faults/controls.js'
import { SandboxFaults } from './sandbox/faults/faults.js'
import { Journal } from './sandbox/journal/journal.js'
import { type AgentControls, withAgents } from './sandbox/scripted-agent/controls.js'
import { settings } from './sandbox/settings/settings.js'
import { CommitHistory } from './storage/history/history.js'
import { watchedStorage } from './storage/history/watched-storage.js'
import { ReadTransaction } from './storage/read-transaction.js'
import { forkStorage } from './storage/tables/serial.js'

/** Services of their own over the same state. */
export interface ForkControls {
  /**
   * Returns a service with the state, the clock and the options of this one. It is in memory, shares rows, and neither
   * sees what happens in the other. Close it after use: closing this service leaves it open.
   */
  fork(): Promise<Service>
}

/** The micropayment service. */
export interface Service {
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /**
   * Answers a request, with the arguments of the global `fetch`. Relative URLs resolve against `baseUrl`. Redirects are
   * returned, not followed. Rejects with the reason of the request's signal if that fires, and with a TypeError where the
   * global `fetch` does.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Answers a request of a runtime. `source` is what the runtime knows about it, such as the address of the caller. */
  respond(request: Request, source?: FetchSource): Promise<Response>
  /**
   * The requests that wait for their first transaction. A server in front of the service that holds requests back enters
   * each, and lets it leave when it passes it on.
   */
  readonly waiting: WaitingRequests
  /** The sandbox's controls. Throws an Error if the service has no sandbox. */
  readonly sandbox: Sandbox & AgentControls & SnapshotControls & ForkControls
  /**
   * Work that failed too often, such as recording that a card was charged. It waits for you. A sandbox shows it at
   * `/_sandbox/dead-letters`.
   */
  readonly deadLetters: {
    list(): Promise<DeadLetter[]>
    /** Tries the work once more. Throws `not_found`. */
    retry(id: string): Promise<void>
  }
  /** Resolves when the service is ready. `fetch` waits for this itself. */
  ready(): Promise<void>
  /**
   * Waits for deliveries, upstream calls and streams in progress, at most `withinMs` milliseconds (default:
   * `limits.closeMs`), and closes the storage. The next start resumes or undoes what is still under way.
   */
  close(options?: { readonly withinMs?: number }): Promise<void>
}

const BASE_URL = 'http://127.0.0.1:4242'

/** How many streams of events and MCP subscriptions a process keeps open. */
const STREAMS = { most: 5000, mostOfOwner: 50 }

const table = new RouteTable(features)
/** The ports and settings of each service. */
const contexts = new WeakMap<Service, ServiceContext>()

/**
 * Creates a service over a storage. Every other option has a default. Throws a TypeError that names a wrong option, and an
 * Error where WebCrypto is missing.
 */
export function assembleService(options: AssemblyOptions): Service {
  checkOptions('createService', options)
  if (options.storage === undefined)
    throw new TypeError('createService needs a storage here, such as indexedDbStorage(). That of farthing has its own.')
  checkWebCrypto()
  return assemble(options)
}

/** Puts a service together. One that has a `parent` goes on from the state that this has now, or had at a time. */
function assemble(options: AssemblyOptions, parent?: ServiceContext, at?: number): Service {
  const context: ServiceContext = contextOf(options, { fork, hasStarted: () => started })
  if (parent) inherit(context, parent, at)
  const respond: Service['respond'] = (request, source) => {
    if (context.sandbox && source?.peerAddress !== undefined) context.sandbox.isServed = true
    if (source?.ending) servers.watch(source.ending)
    return table.respond(request, context, source, started ? undefined : ready)
  }
  const fetch = webFetch(respond, context.baseUrl)
  const sandbox =
    context.sandbox &&
    Object.assign(
      withAgents(createSandbox(context, { seed: options.seed, ready: settled }), {
        baseUrl: context.baseUrl,
        fetch: respond,
        alarm: context.alarm,
        parts: context.parts,
      }),
      snapshotControls(context, settled),
      { fork: () => fork(context.baseUrl) },
    )
  const servers = new ClosingServers(() => context.ending.closeServer(context.limits.closeMs))
  let closing: Promise<void> | undefined
  let starting: Promise<void> | undefined
  let started = false
  async function fork(baseUrl: string, past?: PastMoment): Promise<Service> {
    await ready()
    const storage = await forkStorage(options.storage, schemaHistory)
    if (past) await storage.write(async (tx) => context.history?.rewindCopy(past.commit, tx))
    return assemble({ ...options, storage, baseUrl }, context, past?.at)
  }
  async function start(): Promise<void> {
    await observe(options, context)
    await context.storage.presence?.enter(context.instance)
    // A seed with a wrong fault must not be stored.
    const armFaults = await context.faults?.prepareReset()
    if (parent) await settleFork(context)
    else await begin(context)
    await armAtStart(armFaults, context)
    context.background.wake()
    started = true
  }
  function ready(): Promise<void> {
    // After a failed start, the next caller tries again.
    starting ??= start().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }
  /** Controls wait like requests. */
  async function settled(): Promise<void> {
    await ready()
    if (context.recorder) await context.background.settling()
  }
  async function close(withinMs: number): Promise<void> {
    context.ending.close(withinMs)
    await starting?.catch(() => {})
    await context.sandbox?.forks.close()
    // Upstream calls in progress settle their holds first.
    const settled = Promise.allSettled(context.ongoing.values())
    await Promise.race([settled, context.ending.late])
    await context.background.end()
    context.ending.finish()
    await context.storage.close()
  }
  const service: Service = {
    baseUrl: context.baseUrl,
    fetch,
    respond,
    waiting: context.waiting,
    get sandbox() {
      if (!sandbox) throw new Error('This service has no sandbox. Create it with { sandbox: true }.')
      return sandbox
    },
    deadLetters: {
      list: () => ready().then(() => context.storage.read(listDeadLetters)),
      retry: (id) => ready().then(() => context.storage.write((tx) => retryDeadLetter(tx, id, context.clock.now()))),
    },
    ready,
    close({ withinMs = context.limits.closeMs } = {}) {
      closing ??= close(withinMs)
      return closing
    },
  }
  contexts.set(service, context)
  return service
}

async function observe({ tracer }: AssemblyOptions, context: ServiceContext): Promise<void> {
  const { sandbox } = context
  if (sandbox) (await load(() => import('./http/measurements.js'))).measure(sandbox)
  if (!tracer) return
  const { traceWith } = await load(() => import('./http/tracing/span-recorder.js'))
  traceWith(tracer, context, { messages: outbox.name, events: events.name })
}

/** Servers that pass requests on to a service, each known by the signal that fires when it begins to close. */
class ClosingServers {
  readonly #known = new WeakSet<AbortSignal>()

  constructor(readonly onClosing: () => void) {}

  watch(closing: AbortSignal): void {
    if (this.#known.has(closing)) return
    this.#known.add(closing)
    if (closing.aborted) this.onClosing()
    else closing.addEventListener('abort', this.onClosing, { once: true })
  }
}

function contextOf(
  options: AssemblyOptions,
  { fork, hasStarted }: { fork(baseUrl: string, past?: PastMoment): Promise<Service>; hasStarted(): boolean },
): ServiceContext {
  const random = options.random ?? systemRandom
  const alarm = options.alarm ?? systemAlarm
  const real = options.clock ?? systemClock
  const sandbox = options.sandbox
    ? {
        clock: sandboxClock(real),
        collections,
        history: schemaHistory,
        loadSeed: seedLoader(options.seed ?? {}),
        loadRoutes: async () => (await loadRoutes()).routeList,
        async openFork(past?: PastMoment) {
          const forked = await fork(service.baseUrl, past)
          await forked.ready()
          return { service: required(contexts.get(forked), 'the context of a fork'), close: () => forked.close() }
        },
        respond: (request: Request, source: FetchSource) => table.respond(request, service, source),
        // Far more than can be pending at once.
        handedApprovals: new LimitedMap<string, true>(10_000),
        loadOperations,
        measurements: undefined,
        calls: new Map<string, number>(),
        seededClients: new LimitedMap<string, SeededClient>(10_000),
        snapshots: new Map<string, NamedSnapshot>(),
        forks: new ServedForks({ baseUrl: addressOf(options.baseUrl ?? BASE_URL).baseUrl, random }, fork),
        isServed: false,
        ...sandboxAccess(options),
      }
    : undefined
  const limits = { ...defaultLimits, ...options.limits }
  const clock = sandbox?.clock ?? real
  const instance = randomHex(random, 8)
  const keys = () => context.keys
  const givenKeys = options.encryptionKey === undefined ? undefined : keyring(options.encryptionKey, random)
  const isRecorded = sandbox !== undefined && keepsJournal(options)
  const watched = isRecorded ? watchedStorage(options.storage) : undefined
  const bytes = typeof options.journal === 'object' ? options.journal.bytes : undefined
  const history = watched && new CommitHistory(watched, { bytes, opened: (tx) => new ReadTransaction(tx, keys()) })
  const journal = history && journalOf(options.journal, { clock, instance, history })
  const ports = {
    mailer: options.mailer ?? { send: async () => {} },
    push: options.push ?? { send: async () => {} },
    // Test cards must not issue real value.
    cards: options.cards ?? (sandbox && testProcessor({ alarm })),
    upstream: options.upstream ?? systemUpstream,
  }
  const faults = sandbox && faultsOf(options, { clock, alarm, instance, ports })
  const context: Omit<ServiceContext, 'storage' | 'background'> = {
    instance,
    clock,
    alarm,
    random,
    keys: givenKeys ?? keyring(random.bytes(32), random),
    changeKeys: (keys) => Object.assign(context, { keys }),
    givenKeys,
    ...(faults ? faults.ports() : ports),
    faults,
    fonts: options.fonts,
    allowUpstream: upstreamRule(options.allowUpstream),
    chargeOnUpstreamError: options.chargeOnUpstreamError ?? false,
    log: options.log ?? consoleLog,
    parts: new Parts(options.parts ?? []),
    limits,
    ...addressOf(options.baseUrl ?? BASE_URL),
    twinDomain: options.twinDomain ?? 'twin.localhost',
    balances: options.balances ?? 'quantity',
    evidence: options.evidence ?? 'designed',
    accountCreation: options.accountCreation ?? true,
    trustsProxy: options.trustProxy ?? false,
    ending: new ServiceEnding(alarm),
    waiting: new WaitingRequests(limits.queue),
    streams: new SharedPlaces(STREAMS),
    responsibleFor,
    generationOf,
    bodies: new HeldBodies(limits),
    hasStarted,
    ongoing: new Map(),
    sandbox,
    recorder: journal,
    history,
    commitOfEntry: journal && ((id) => journal.entry(id)?.after),
    findCaller: authenticate,
    countNew,
    countStored,
    credentialsIn: [sessions, tokens, clients, users, settings].map(({ name }) => name),
    completeRefusal: async (refusal, principal, service) =>
      principal.kind === 'agent'
        ? (await load(() => import('./agents/agents/refusal.js'))).completeRefusal(refusal, principal, service)
        : refusal,
    checkForSale,
    isSoldByItem,
    onDisconnect,
    onFirstProof,
    onSignIn,
    recordDeadLetter: (tx, work) =>
      recordDeadLetter(tx, work, context.clock.now()).catch((cause: unknown) =>
        context.log.error(`${work.id} waits for an operator, and its event could not be written`, cause),
      ),
  }
  const storages = {
    base: options.storage,
    watched: watched ?? options.storage,
    keys,
    faults,
  }
  const service: ServiceContext = runInBackground(storages, context)
  return service
}

const keepsJournal = ({ journal }: AssemblyOptions): boolean =>
  typeof journal === 'object' ? journal.entries !== 0 : journal !== false

const journalOf = (
  given: AssemblyOptions['journal'],
  service: Pick<ServiceContext, 'clock' | 'instance' | 'history'>,
) => new Journal(service, typeof given === 'object' ? given : {})

const faultsOf = (
  { seed, storage }: AssemblyOptions,
  context: Pick<ServiceContext, 'clock' | 'alarm' | 'instance'> & { readonly ports: OutwardPorts },
) =>
  new SandboxFaults({
    ...context,
    seeded: seed?.faults ?? [],
    sharedBy: storage.isShared ? storage : undefined,
    loadOperations: async () => (await loadOperations()).flatMap(({ id, isControl }) => (isControl ? [] : [id])),
  })

const loadRoutes = () => load(() => import('./routes.js'))

const loadOperations = async () => (await loadRoutes()).knownOperations

function upstreamRule(allowed: AssemblyOptions['allowUpstream']): ServiceContext['allowUpstream'] {
  if (allowed === undefined || typeof allowed === 'function') return allowed
  const list = upstreamList(allowed)
  if ('wrong' in list) throw new TypeError(`allowUpstream must hold ${UPSTREAM_EXPECTED}, not "${list.wrong}"`)
  return list
}

function addressOf(url: string): Pick<ServiceContext, 'baseUrl' | 'basePath'> {
  return { baseUrl: url.replace(/\/+$/, ''), basePath: new URL(url).pathname.replace(/\/+$/, '') }
}
