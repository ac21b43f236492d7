import { runInBackground } from './background.js'
import type { Evidence } from './base/evidence.js'
import { UPSTREAM_EXPECTED, upstreamList } from './base/ip-address.js'
import {
  type Alarm,
  type Cards,
  type Clock,
  consoleLog,
  type Fonts,
  type Log,
  type Mailer,
  type Push,
  type Random,
  systemAlarm,
  systemClock,
  systemRandom,
  systemUpstream,
  type Upstream,
} from './base/ports.js'
import { keyring, randomHex } from './base/secrets.js'
import { collections } from './collections.js'
import { authenticate } from './consent/callers/caller.js'
import type { Limits, ServiceContext } from './http/context.js'
import type { FetchSource } from './http/incoming.js'
import { RouteTable } from './http/routing/router.js'
import { sandboxAccess } from './http/sandbox-access.js'
import { sessions } from './identity/sessions/session.js'
import { clients } from './identity/tokens/client.js'
import { tokens } from './identity/tokens/token.js'
import { listUnsettled, retryUnsettled, type Unsettled } from './jobs/schedule/unsettled.js'
import { checkForSale } from './market/catalog/for-sale.js'
import { testProcessor } from './money/cards/test-processor.js'
import { routeList } from './routes.js'
import { begin } from './sandbox/controls/bootstrap.js'
import { sandboxClock } from './sandbox/controls/clock.js'
import { createSandbox, type Sandbox } from './sandbox/controls/sandbox.js'
import { seedPlanter } from './sandbox/controls/seed/seed.js'
import type { Seed } from './sandbox/controls/seed/seed-schema.js'
import { settings } from './sandbox/controls/settings.js'
import { type AgentControls, withAgents } from './sandbox/scripted-agent/controls.js'
import { onDisconnect, onFirstProof, onSignIn } from './sign-in.js'
import { sealedStorage } from './storage/sealing.js'
import type { Storage } from './storage/storage.js'
import { recordUnsettled } from './unsettled-events.js'

export interface AssemblyOptions {
  storage: Storage
  /** Where the service is reached. Default `http://127.0.0.1:4242`. */
  baseUrl?: string
  /** What twins' hostnames end in. Default `twin.localhost`. */
  twinDomain?: string
  clock?: Clock
  alarm?: Alarm
  random?: Random
  /** Default: mail goes no further than the sandbox's outbox. */
  mailer?: Mailer
  /** Default: pushes go no further than the sandbox's outbox and the phones that it plays. */
  push?: Push
  /**
   * Fonts for PDF invoices. Default: those that the package brings, for letters of Latin, Greek, Cyrillic and Hebrew;
   * on Node, `nodeFonts()` of `farthing/node` finds more. What no font has, a PDF writes in other letters, and names the page that shows it.
   */
  fonts?: Fonts
  /** Default: a sandbox charges test payment methods (`sandbox.testValues`); another service charges no card. */
  cards?: Cards
  /**
   * Calls upstream services. Default: the global `fetch`, which cannot judge the addresses that names stand for;
   * on Node, `nodeUpstream()` of `farthing/node` does.
   */
  upstream?: Upstream
  /**
   * Which upstream services may be called; those at addresses of cloud metadata, link-local and the like never may.
   * A function decides for each URL. A list of hosts, addresses and CIDR ranges adds to the default: public hosts over https;
   * a sandbox calls all, and once it is served over HTTP, public hosts and this machine.
   */
  allowUpstream?: ((url: URL) => boolean) | readonly string[]
  /** Whether a catalog purchase is paid although its endpoint fails. Default false: it is reversed. */
  chargeOnUpstreamError?: boolean
  log?: Log
  /** Operations known by weaker evidence answer 501. Default `designed`: none are refused. */
  evidence?: Evidence
  /** The controls under `/_sandbox`, and `service.sandbox`. Default off. */
  sandbox?: boolean
  /** What a sandbox's empty storage begins with. */
  seed?: Seed
  /** Opens the controls of a sandbox that is served over HTTP to callers elsewhere. Default: they are closed to those. */
  controlToken?: string
  /** Origins whose pages may call a sandbox that is served over HTTP, beside its own and those of this machine. */
  allowOrigins?: readonly string[]
  /** Hosts by which a sandbox that is served over HTTP may be called, beside that of `baseUrl` and those of this machine. */
  allowHosts?: readonly string[]
  /**
   * Seals what must not rest in clear: 32 bytes, or 64 hex digits. What it sealed opens under no other key.
   * Default: made once and kept with the state; the file storage keeps it in a file of its own, `<file>.key`.
   */
  encryptionKey?: Uint8Array | string
  limits?: Partial<Limits>
  /** Whether anyone may make accounts. Default true. */
  accountCreation?: boolean
}

/** The micropayment service. */
export interface Service {
  /** Where it is reached, without a trailing slash. */
  readonly baseUrl: string
  /** Answers a request: the whole interface. */
  fetch(request: Request, source?: FetchSource): Promise<Response>
  /** The controls, where `sandbox` is on. */
  readonly sandbox: Sandbox & AgentControls
  /** Work that failed too often, such as noting that a card was charged: it waits for you. A sandbox shows it at `/_sandbox/unsettled`. */
  readonly unsettled: {
    list(): Promise<Unsettled[]>
    /** Has it done once more. Throws `not_found`. */
    retry(id: string): Promise<void>
  }
  /** Resolves once the storage holds what the service needs; `fetch` waits for it by itself. */
  ready(): Promise<void>
  /** Lets what is running finish and closes the storage. */
  close(): Promise<void>
}

const table = new RouteTable(routeList)

/** Puts a service together over a storage. Every other option has a default. */
export function assembleService(options: AssemblyOptions): Service {
  const context = contextOf(options)
  const fetch: Service['fetch'] = (request, source) => {
    if (context.sandbox && source?.peerAddress !== undefined) context.sandbox.isServed = true
    return table.respond(request, context, source, started ? undefined : ready)
  }
  const sandbox =
    context.sandbox &&
    withAgents(createSandbox(context, { seed: options.seed, ready }), {
      baseUrl: context.baseUrl,
      fetch,
      alarm: context.alarm,
    })
  let starting: Promise<void> | undefined
  let started = false
  async function start(): Promise<void> {
    await context.storage.presence?.enter(context.instance)
    await begin(context)
    context.background.wake()
    started = true
  }
  function ready(): Promise<void> {
    // A failed start is tried again by the next caller.
    starting ??= start().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }
  return {
    baseUrl: context.baseUrl,
    fetch,
    get sandbox() {
      if (!sandbox) throw new Error('This service has no sandbox: create it with { sandbox: true }.')
      return sandbox
    },
    unsettled: {
      list: () => ready().then(() => context.storage.read(listUnsettled)),
      retry: (id) => ready().then(() => context.storage.write((tx) => retryUnsettled(tx, id, context.clock.now()))),
    },
    ready,
    async close() {
      await starting?.catch(() => {})
      // What is held for them is settled first.
      await Promise.allSettled(context.ongoing.values())
      await context.storage.close()
    },
  }
}

function contextOf(options: AssemblyOptions): ServiceContext {
  const random = options.random ?? systemRandom
  const alarm = options.alarm ?? systemAlarm
  const real = options.clock ?? systemClock
  const sandbox = options.sandbox
    ? {
        clock: sandboxClock(real),
        collections,
        plantSeed: seedPlanter(options.seed ?? {}),
        handedApprovals: new Set<string>(),
        isServed: false,
        ...sandboxAccess(options),
      }
    : undefined
  const context: Omit<ServiceContext, 'storage' | 'background'> = {
    instance: randomHex(random, 8),
    clock: sandbox?.clock ?? real,
    alarm,
    random,
    keys: keyring(options.encryptionKey ?? random.bytes(32), random),
    storesKey: options.encryptionKey === undefined,
    mailer: options.mailer ?? { send: async () => {} },
    push: options.push ?? { send: async () => {} },
    fonts: options.fonts,
    // Test cards must not issue value that is worth something.
    cards: options.cards ?? (sandbox && testProcessor({ alarm })),
    upstream: options.upstream ?? systemUpstream,
    allowUpstream: upstreamRule(options.allowUpstream),
    chargeOnUpstreamError: options.chargeOnUpstreamError ?? false,
    log: options.log ?? consoleLog,
    limits: {
      bodyBytes: 1_048_576,
      snapshotBytes: 1_073_741_824,
      nonceSeconds: 15 * 60,
      cardMs: 20_000,
      upstreamMs: 30_000,
      upstreamBytes: 5_242_880,
      codes: 5,
      ...options.limits,
    },
    ...addressOf(options.baseUrl ?? 'http://127.0.0.1:4242'),
    twinDomain: options.twinDomain ?? 'twin.localhost',
    evidence: options.evidence ?? 'designed',
    accountCreation: options.accountCreation ?? true,
    ongoing: new Map(),
    sandbox,
    findCaller: authenticate,
    credentialsIn: [sessions, tokens, clients, settings].map(({ name }) => name),
    checkForSale,
    onDisconnect,
    onFirstProof,
    onSignIn,
    recordUnsettled: (tx, parked) =>
      recordUnsettled(tx, parked, context.clock.now()).catch((cause: unknown) =>
        context.log.error(`nobody could be told that ${parked.id} waits for an operator`, cause),
      ),
  }
  return runInBackground(
    sealedStorage(options.storage, () => context.keys),
    context,
  )
}

function upstreamRule(allowed: AssemblyOptions['allowUpstream']): ServiceContext['allowUpstream'] {
  if (allowed === undefined || typeof allowed === 'function') return allowed
  const list = upstreamList(allowed)
  if ('wrong' in list) throw new TypeError(`allowUpstream takes ${UPSTREAM_EXPECTED}, not "${list.wrong}"`)
  return list
}

function addressOf(url: string): Pick<ServiceContext, 'baseUrl' | 'basePath'> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.search || parsed.hash)
    throw new TypeError(`baseUrl is an http or https URL without query and fragment, not "${url}"`)
  return { baseUrl: url.replace(/\/+$/, ''), basePath: parsed.pathname.replace(/\/+$/, '') }
}
