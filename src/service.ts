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
  /** The URL of the service. Default: `http://127.0.0.1:4242`. */
  baseUrl?: string
  /** The ending of twins' hostnames. Default: `twin.localhost`. */
  twinDomain?: string
  clock?: Clock
  alarm?: Alarm
  random?: Random
  /** Sends mail. Default: mail stays in the sandbox's outbox. */
  mailer?: Mailer
  /** Sends push messages. Default: they reach only the sandbox's outbox and the phones that it plays. */
  push?: Push
  /**
   * Fonts for PDF invoices. Default: the package's fonts, for Latin, Greek, Cyrillic and Hebrew letters. On Node,
   * `nodeFonts()` of `farthing/node` finds more. A PDF transliterates characters that no font has, and links to the
   * page that shows them.
   */
  fonts?: Fonts
  /**
   * Charges cards. Default: a sandbox accepts test payment methods (`sandbox.testValues`), and other services charge
   * no cards.
   */
  cards?: Cards
  /**
   * Calls upstream services. Default: the global `fetch`, which cannot check the addresses of names. On Node, use
   * `nodeUpstream()` of `farthing/node`, which checks them.
   */
  upstream?: Upstream
  /**
   * Which upstream services may be called. Addresses of cloud metadata, link-local and similar ones are always refused.
   * A function decides for each URL. A list of hosts, addresses and CIDR ranges adds to the default, which is public
   * hosts over https. A sandbox may call everything, or only public hosts and this machine once it is served over HTTP.
   */
  allowUpstream?: ((url: URL) => boolean) | readonly string[]
  /** Whether a catalog purchase is charged even if its endpoint fails. Default: false, so the payment is reversed. */
  chargeOnUpstreamError?: boolean
  log?: Log
  /** Operations with a weaker evidence grade answer 501. Default: `designed`, which refuses none. */
  evidence?: Evidence
  /** Turns on the controls under `/_sandbox` and `service.sandbox`. Default: false. */
  sandbox?: boolean
  /** What a sandbox creates in an empty storage. */
  seed?: Seed
  /**
   * The token with which remote callers use the controls of a sandbox that is served over HTTP. Default: only local
   * callers may use them.
   */
  controlToken?: string
  /**
   * Origins whose pages may call a sandbox that is served over HTTP, in addition to its own and those on this
   * machine.
   */
  allowOrigins?: readonly string[]
  /**
   * Hosts for which a sandbox that is served over HTTP answers, in addition to that of `baseUrl` and those of this
   * machine.
   */
  allowHosts?: readonly string[]
  /**
   * Encrypts secrets in the state: 32 bytes, or 64 hex digits. No other key can decrypt them. Default: a random key,
   * which is created once and stored with the state. The file storage puts it in a separate file, `<file>.key`.
   */
  encryptionKey?: Uint8Array | string
  limits?: Partial<Limits>
  /** Whether anyone may create accounts. Default: true. */
  accountCreation?: boolean
}

/** The micropayment service. */
export interface Service {
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /** Answers a request. This is the whole interface. */
  fetch(request: Request, source?: FetchSource): Promise<Response>
  /** The sandbox's controls. Throws an Error if the service has no sandbox. */
  readonly sandbox: Sandbox & AgentControls
  /**
   * Work that failed too often, such as recording that a card was charged. It waits for you. A sandbox shows it at
   * `/_sandbox/unsettled`.
   */
  readonly unsettled: {
    list(): Promise<Unsettled[]>
    /** Tries the work once more. Throws `not_found`. */
    retry(id: string): Promise<void>
  }
  /** Resolves when the service is ready. `fetch` waits for this itself. */
  ready(): Promise<void>
  /** Waits for work in progress and closes the storage. */
  close(): Promise<void>
}

const table = new RouteTable(routeList)

/** Creates a service over a storage. Every other option has a default. */
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
    // After a failed start, the next caller tries again.
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
      if (!sandbox) throw new Error('This service has no sandbox. Create it with { sandbox: true }.')
      return sandbox
    },
    unsettled: {
      list: () => ready().then(() => context.storage.read(listUnsettled)),
      retry: (id) => ready().then(() => context.storage.write((tx) => retryUnsettled(tx, id, context.clock.now()))),
    },
    ready,
    async close() {
      await starting?.catch(() => {})
      // Upstream calls in progress settle their holds first.
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
    // Test cards must not issue real value.
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
    recordUnsettled: (tx, work) =>
      recordUnsettled(tx, work, context.clock.now()).catch((cause: unknown) =>
        context.log.error(`${work.id} waits for an operator, and its event could not be written`, cause),
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
  if ('wrong' in list) throw new TypeError(`allowUpstream must hold ${UPSTREAM_EXPECTED}, not "${list.wrong}"`)
  return list
}

function addressOf(url: string): Pick<ServiceContext, 'baseUrl' | 'basePath'> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.search || parsed.hash)
    throw new TypeError(`baseUrl must be an http or https URL without query and fragment, not "${url}"`)
  return { baseUrl: url.replace(/\/+$/, ''), basePath: parsed.pathname.replace(/\/+$/, '') }
}
