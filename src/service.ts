import { runInBackground } from './background.js'
import { givesWay } from './base/event-loop.js'
import { UPSTREAM_EXPECTED, upstreamList } from './base/ip-address.js'
import { load, Parts } from './base/parts.js'
import { consoleLog, systemAlarm, systemClock, systemRandom, systemUpstream } from './base/ports.js'
import { checkWebCrypto, keyring, randomHex } from './base/secrets.js'
import { SharedPlaces } from './base/shared-places.js'
import { NETWORK_EXPECTED, type TokenNetwork, tokenNetworkIn } from './base/token-network.js'
import type { AssemblyOptions } from './composition/assembly-options.js'
import { recordDeadLetter } from './composition/dead-letter-events.js'
import { ClosingServers, Lifecycle } from './composition/lifecycle.js'
import type { Assembled, SandboxHost, SandboxLayers, sandboxed } from './composition/sandboxed.js'
import type { Service } from './composition/service.js'
import { onDisconnect, onFirstProof, onSignIn } from './composition/sign-in.js'
import { authenticate } from './consent/callers/caller.js'
import { features } from './features.js'
import type { FixedOptions, LaterRules, ServiceContext } from './http/context.js'
import { ServiceEnding } from './http/ending.js'
import { HeldBodies, WaitingRequests } from './http/fields/intake.js'
import { defaultLimits } from './http/limits.js'
import { RouteTable } from './http/routing/router.js'
import { webFetch } from './http/web-fetch.js'
import { countNew, countStored, generationOf, responsibleFor } from './identity/users/user.js'
import { listDeadLetters, retryDeadLetter } from './jobs/dead-letters/dead-letter.js'
import { checkForSale, isSoldByItem } from './market/catalog/item-row.js'
import { checkOptions } from './options.js'

const BASE_URL = 'http://127.0.0.1:4242'

/** How many streams of events and MCP subscriptions a process keeps open. */
const STREAMS = { most: 5000, mostOfOwner: 50 }
const table = new RouteTable(features)

/**
 * Creates a service over a storage. Every other option has a default. `around`: what makes a sandbox of it. Throws a
 * TypeError that names a wrong option, and an Error where WebCrypto is missing.
 */
export function assembleService(options: AssemblyOptions, around: typeof sandboxed): Service {
  checkOptions('createService', options)
  if (options.storage === undefined)
    throw new TypeError('createService needs a storage here, such as indexedDbStorage(). That of farthing has its own.')
  checkWebCrypto()
  return assemble(options, around).service
}

/** Where a fork goes on. */
interface Origin {
  readonly parent: ServiceContext
  /** The time of the fork. Undefined: that of its parent. */
  readonly at: number | undefined
}

function assemble(options: AssemblyOptions, around: typeof sandboxed, origin?: Origin): Assembled {
  const host = hostOf(options, {
    context: () => context,
    keys: () => context.keys,
    ready: () => lifecycle.ready(),
    respond: (request, source) => service.respond(request, source),
    fork: (forked, at) => assemble(forked, around, { parent: context, at }),
  })
  const layers = options.sandbox ? around(options, host) : undefined
  const context: ServiceContext = contextOf(options, host, { layers, hasStarted: () => lifecycle.hasStarted })
  if (origin) layers?.inherit(origin.parent, origin.at)
  const lifecycle = new Lifecycle({ context, layers, isFork: origin !== undefined, tracer: options.tracer })
  const service = serviceOf(context, lifecycle, layers)
  return { context, service }
}

function serviceOf(context: ServiceContext, lifecycle: Lifecycle, layers: SandboxLayers | undefined): Service {
  const { baseUrl, intake, limits, storage, clock, ending } = context
  const { ready } = lifecycle
  const giveWay = givesWay()
  const servers = new ClosingServers(() => ending.closeServer(limits.closeMs))
  const respond: Service['respond'] = (request, source) => {
    if (source?.ending) servers.watch(source.ending)
    const answer = table.respond(request, context, source, lifecycle.hasStarted ? undefined : ready)
    // What comes over a socket comes in turns of the event loop.
    return source?.peerAddress === undefined ? giveWay(answer) : answer
  }
  const sandbox = layers?.controls(giveWay)
  return {
    baseUrl,
    fetch: webFetch(respond, baseUrl),
    respond,
    waiting: intake.waiting,
    get sandbox() {
      if (!sandbox) throw new Error('This service has no sandbox. Create it with { sandbox: true }.')
      return sandbox
    },
    deadLetters: {
      list: () => ready().then(() => storage.read(listDeadLetters)),
      retry: (id) => ready().then(() => storage.write((tx) => retryDeadLetter(tx, id, clock.now()))),
    },
    ready,
    close: ({ withinMs = limits.closeMs } = {}) => lifecycle.close(withinMs),
  }
}

/** What a service has before everything that needs its context. */
function hostOf(
  options: AssemblyOptions,
  own: Pick<SandboxHost, 'context' | 'keys' | 'ready' | 'respond' | 'fork'>,
): SandboxHost {
  const random = options.random ?? systemRandom
  return {
    ...own,
    baseUrl: withoutSlash(options.baseUrl ?? BASE_URL),
    instance: randomHex(random, 8),
    alarm: options.alarm ?? systemAlarm,
    random,
    ports: {
      mailer: options.mailer ?? { send: async () => {} },
      push: options.push ?? { send: async () => {} },
      cards: options.cards,
      upstream: options.upstream ?? systemUpstream,
    },
  }
}

function contextOf(
  options: AssemblyOptions,
  { baseUrl, instance, alarm, random, ports, keys, context: built }: SandboxHost,
  { layers, hasStarted }: { readonly layers: SandboxLayers | undefined; hasStarted(): boolean },
): ServiceContext {
  const limits = { ...defaultLimits, ...options.limits }
  const givenKeys = options.encryptionKey === undefined ? undefined : keyring(options.encryptionKey, random)
  return runInBackground(
    { base: options.storage, watched: layers?.storage ?? options.storage, keys, faults: layers?.faults },
    {
      instance,
      clock: layers?.context.clock ?? options.clock ?? systemClock,
      alarm,
      random,
      keys: givenKeys ?? keyring(random.bytes(32), random),
      stateKey: {
        given: givenKeys,
        change(keys) {
          built().keys = keys
        },
      },
      ...(layers?.ports ?? ports),
      allowUpstream: upstreamRule(options.allowUpstream),
      log: options.log ?? consoleLog,
      baseUrl,
      limits,
      options: fixedOptions(options),
      intake: {
        waiting: new WaitingRequests(limits.queue),
        streams: new SharedPlaces(STREAMS),
        bodies: new HeldBodies(limits),
        hasStarted,
      },
      ending: new ServiceEnding(alarm),
      ongoing: new Map(),
      sandbox: layers?.context,
      recorder: layers?.recorder,
      rules,
      recordDeadLetter: (tx, work) =>
        recordDeadLetter(tx, work, built().clock.now()).catch((cause: unknown) =>
          built().log.error(`${work.id} waits for an operator, and its event could not be written`, cause),
        ),
    },
  )
}

/** What later features do for earlier ones. */
const rules: LaterRules = {
  responsibleFor,
  generationOf,
  findCaller: authenticate,
  countNew,
  countStored,
  completeRefusal: async (refusal, principal, service) =>
    principal.kind === 'agent'
      ? (await load(() => import('./agents/agents/request.js'))).completeRefusal(refusal, principal, service)
      : refusal,
  checkForSale,
  isSoldByItem,
  onDisconnect,
  onFirstProof,
  onSignIn,
}

const fixedOptions = (options: AssemblyOptions): FixedOptions => ({
  basePath: withoutSlash(new URL(options.baseUrl ?? BASE_URL).pathname),
  twinDomain: options.twinDomain ?? 'twin.localhost',
  balances: options.balances ?? 'quantity',
  evidence: options.evidence ?? 'designed',
  accountCreation: options.accountCreation ?? true,
  trustsProxy: options.trustProxy ?? false,
  parts: new Parts(options.parts ?? []),
  chargeOnUpstreamError: options.chargeOnUpstreamError ?? false,
  fonts: options.fonts,
  dialects: {
    networks: (options.x402Networks ?? ['eip155:84532']).map(readNetwork),
    settlesAgain: options.x402Settle === 'idempotent',
  },
})

function readNetwork(text: string): TokenNetwork {
  const network = tokenNetworkIn(text)
  if (!network) throw new TypeError(`x402Networks must hold ${NETWORK_EXPECTED}, not "${text}"`)
  return network
}

function upstreamRule(allowed: AssemblyOptions['allowUpstream']): ServiceContext['allowUpstream'] {
  if (allowed === undefined || typeof allowed === 'function') return allowed
  const list = upstreamList(allowed)
  if ('wrong' in list) throw new TypeError(`allowUpstream must hold ${UPSTREAM_EXPECTED}, not "${list.wrong}"`)
  return list
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')
