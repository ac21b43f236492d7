import type { GiveWay } from '../base/event-loop.js'
import { LimitedMap } from '../base/memo.js'
import { load } from '../base/parts.js'
import { type Alarm, type Random, systemClock } from '../base/ports.js'
import type { Keyring } from '../base/secrets.js'
import { collections } from '../collections.js'
import type { SandboxContext, ServiceContext } from '../http/context.js'
import type { FetchSource } from '../http/incoming.js'
import type { Recorder } from '../http/recorder.js'
import { schemaHistory } from '../migrations/schema.js'
import { testProcessor } from '../money/cards/test-values.js'
import { loadRouteList } from '../routes.js'
import { inherit, ServedForks, settleFork } from '../sandbox/controls/forks.js'
import { type Around, around, createSandbox } from '../sandbox/controls/sandbox.js'
import { clientsIn, fixCredentials, ownItemsOf } from '../sandbox/controls/seed/credentials.js'
import { seedLoader } from '../sandbox/controls/seed/seed.js'
import { sandboxClock } from '../sandbox/controls/shapes.js'
import { snapshotControls } from '../sandbox/controls/state-controls.js'
import { armAtStart, SandboxFaults } from '../sandbox/faults/faults.js'
import { Journal } from '../sandbox/journal/journal.js'
import { sandboxAccess } from '../sandbox/onion/access.js'
import { SandboxRequests } from '../sandbox/onion/around-requests.js'
import {
  knownOperation,
  type NamedSnapshot,
  type PastMoment,
  type SandboxParts,
  type SeededClient,
} from '../sandbox/onion/context.js'
import type { OutwardPorts } from '../sandbox/onion/fault.js'
import { withAgents } from '../sandbox/scripted-agent/controls.js'
import { CommitHistory } from '../storage/history/history.js'
import { watchedStorage } from '../storage/history/watched-storage.js'
import type { Storage } from '../storage/storage.js'
import { forkStorage } from '../storage/tables/serial.js'
import { ReadTransaction } from '../storage/transaction.js'
import { timerJobs } from '../timers.js'
import type { AssemblyOptions } from './assembly-options.js'
import { deliveryHandlers } from './deliveries.js'
import type { Service } from './service.js'

export type Assembled = { readonly service: Service; readonly context: ServiceContext }

export interface SandboxHost {
  readonly baseUrl: string
  readonly instance: string
  readonly alarm: Alarm
  readonly random: Random
  readonly ports: OutwardPorts
  keys(): Keyring
  /** Not before it is put together. */
  context(): ServiceContext
  ready(): Promise<void>
  respond(request: Request, source?: FetchSource): Promise<Response>
  /** Puts a service together that goes on from this one. `at`: its time. Default: that of this one. */
  fork(options: AssemblyOptions, at: number | undefined): Assembled
}

export interface SandboxLayers {
  readonly context: SandboxContext
  readonly ports: OutwardPorts
  /** Tells what its commits replace, if there is a journal. */
  readonly storage: Storage
  readonly faults: Pick<SandboxFaults, 'engine' | 'aroundWrites' | 'storageFault'>
  readonly recorder: Recorder | undefined
  controls(giveWay: GiveWay): Service['sandbox']
  /** Takes over what a fork needs and its state does not hold. */
  inherit(parent: ServiceContext, at: number | undefined): void
  /** Runs at the start. Returns what arms the faults when the state is ready. */
  prepare(): Promise<() => Promise<void>>
  /** Goes on from the state of the parent of a fork. */
  takeOver(): Promise<void>
  close(): Promise<void>
}

/** Puts the layers of a sandbox around a service: guards, forks, measurements, the journal and faults. */
export function sandboxed(options: AssemblyOptions, host: SandboxHost): SandboxLayers {
  const clock = sandboxClock(options.clock ?? systemClock)
  const faults = faultsOf(options, clock, host)
  const { storage, history, journal } = journalOf(options, { clock, faults }, host)
  const fork = async (baseUrl: string, past?: PastMoment): Promise<Assembled> => {
    await host.ready()
    const copy = await forkStorage(options.storage, schemaHistory)
    if (past) await copy.write(async (tx) => history?.rewindCopy(past.commit, tx))
    return host.fork({ ...options, storage: copy, baseUrl }, past?.at)
  }
  const parts = partsOf(options, host, fork)
  const sandbox: SandboxParts = {
    ...parts,
    clock,
    faults,
    history,
    commitOfEntry: (id) => journal?.entry(id)?.after,
    requests: new SandboxRequests({ baseUrl: host.baseUrl, sandbox: parts.access }, () => sandbox),
    onCommit: (commit) => sandbox.measurements?.countWrite(commit),
  }
  return {
    context: sandbox,
    ports: faults.ports(),
    storage,
    faults,
    recorder: journal,
    controls: (giveWay) => controlsOf(host, fork, giveWay),
    inherit: (parent, at) => inherit(host.context(), parent, at),
    async prepare() {
      const { Measurements } = await load(() => import('../sandbox/onion/measurements.js'))
      sandbox.measurements ??= new Measurements(clock.realNow())
      // A seed with a wrong fault must not be stored.
      const arm = await faults.prepareReset()
      return () => armAtStart(arm, host.context())
    },
    takeOver: () => settleFork(host.context()),
    close: () => sandbox.forks.close(),
  }
}

type Fork = (baseUrl: string, past?: PastMoment) => Promise<Assembled>

function journalOf(
  options: AssemblyOptions,
  { clock, faults }: Pick<SandboxParts, 'clock' | 'faults'>,
  { instance, keys }: SandboxHost,
) {
  const { storage, journal: given } = options
  const keepsJournal = typeof given === 'object' ? given.entries !== 0 : given !== false
  if (!keepsJournal) return { storage, history: undefined, journal: undefined }
  const limits = typeof given === 'object' ? given : {}
  const watched = watchedStorage(storage)
  const opened = (tx: ConstructorParameters<typeof ReadTransaction>[0]) => new ReadTransaction(tx, keys())
  const history = new CommitHistory(watched, { bytes: limits.bytes, opened })
  return { storage: watched, history, journal: new Journal({ clock, instance, history, faults }, limits) }
}

const faultsOf = (
  { seed, storage, cards }: AssemblyOptions,
  clock: SandboxContext['clock'],
  { alarm, instance, ports }: SandboxHost,
) =>
  new SandboxFaults({
    ...{ clock, alarm, instance },
    // Test cards must not issue real value.
    ports: { ...ports, cards: cards ?? testProcessor({ alarm }) },
    seeded: seed?.faults ?? [],
    sharedBy: storage.isShared ? storage : undefined,
    loadOperations: async () => (await loadRouteList()).flatMap(({ id, scope }) => (scope === 'sandbox' ? [] : [id])),
  })

const partsOf = (options: AssemblyOptions, { baseUrl, random, respond, keys }: SandboxHost, fork: Fork) => ({
  access: sandboxAccess(options),
  isServed: false,
  collections,
  schemas: schemaHistory,
  firstClients: async () => clientsIn(await fixCredentials(options.seed ?? {}, keys())),
  ownItems: (keys: Keyring) => ownItemsOf(options.seed ?? {}, keys),
  loadSeed: seedLoader(options.seed ?? {}),
  loadRoutes: loadRouteList,
  loadOperations,
  kindsOfWork: [...Object.keys(timerJobs), ...Object.keys(deliveryHandlers)],
  async openFork(past?: PastMoment) {
    const { service, context } = await fork(baseUrl, past)
    await service.ready()
    return { service: context, close: () => service.close() }
  },
  respond,
  // Far more than can be pending at once.
  handedApprovals: new LimitedMap<string, true>(10_000),
  measurements: undefined,
  calls: new Map<string, number>(),
  seededClients: new LimitedMap<string, SeededClient>(10_000),
  snapshots: new Map<string, NamedSnapshot>(),
  rehearsals: new Map(),
  forks: new ServedForks({ baseUrl, random }, async (url) => (await fork(url)).service),
})

function controlsOf(host: SandboxHost, fork: Fork, giveWay: GiveWay): Service['sandbox'] {
  const context = host.context()
  const { baseUrl, alarm, recorder, background } = context
  const { parts } = context.options
  const settled = async () => {
    await host.ready()
    if (recorder) await background.settling()
  }
  /** Controls wait and give way like requests. */
  const asRequest: Around = (control) => giveWay(settled().then(control))
  return Object.assign(
    withAgents(createSandbox(context, asRequest), { baseUrl, fetch: host.respond, alarm, parts }),
    around(snapshotControls(context), asRequest),
    { fork: async () => (await fork(baseUrl)).service },
  )
}

const loadOperations = async () => (await loadRouteList()).map(knownOperation)
