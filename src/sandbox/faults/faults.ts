import { load } from '../../base/parts.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { AroundWrites } from '../../storage/service-storage.js'
import type { Storage, StorageUnavailable } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'
import {
  type ArmedFault,
  type Fault,
  type FaultEngine,
  type FaultPort,
  type Faults,
  type FaultyAnswer,
  type NoteFault,
  type OutwardPorts,
  portsWithin,
  type SharedFault,
} from '../onion/fault.js'
import { keptFaults } from '../settings/settings.js'
import { FaultShape } from './fault-shape.js'

/**
 * Failures on purpose. A snapshot holds none, and a reset arms those of the seed alone. Processes that share a storage have
 * the same ones armed, and count `times`, `every` and `fired` together.
 */
export interface FaultControls {
  /**
   * Arms a fault: `await sandbox.faults.arm({ match: { port: 'mail' }, at: 'before', do: { drop: true }, times: 1 })`.
   * Throws `field_invalid`, which names the field, and `already_exists`.
   */
  arm(fault: Fault): Promise<ArmedFault>
  /** Returns the armed faults, and how often each has happened. */
  list(): Promise<ArmedFault[]>
  /** Disarms the fault with this id. Throws `not_found`. */
  disarm(id: string): Promise<void>
  /** Disarms all of them. */
  clear(): Promise<void>
}

export function faultControls({ sandbox, background }: Pick<ServiceContext, 'sandbox' | 'background'>): FaultControls {
  const loadEngine = () => sandboxOf({ sandbox }).faults.load()
  /** All processes learn of it. */
  const change = async <T>(how: (engine: FaultEngine) => Promise<T>): Promise<T> => {
    const engine = await loadEngine()
    return background.share(() => how(engine))
  }
  return {
    async arm(fault) {
      const given = checkShape(FaultShape, fault)
      return change(async (engine) => required((await engine.prepare([given])).arm()[0], 'the armed fault'))
    },
    list: async () => (await loadEngine()).list(),
    disarm: (id) => change(async (engine) => engine.disarm(id)),
    clear: () => change(async (engine) => engine.clear()),
  }
}

/** Arms what the other processes of a shared storage have armed, or else the faults of the seed, in all of them. */
export async function armAtStart(
  armSeed: (() => void) | undefined,
  { sandbox, storage, background }: Pick<ServiceContext, 'sandbox' | 'storage' | 'background'>,
): Promise<void> {
  if (!storage.isShared) return armSeed?.()
  const arm = async () => {
    const kept = await storage.read(keptFaults)
    if (kept) await sandboxOf({ sandbox }).faults.follow(kept)
    else armSeed?.()
  }
  // Two processes may start at once. One of them arms, and the other follows.
  if (armSeed && !(await storage.read(keptFaults))) await background.share(arm)
  else await arm()
}

/** Does something, and then arms faults that are checked before it. If it rejects, none is armed. */
export async function thenArm<T>(
  given: readonly Fault[] | undefined,
  { sandbox, background }: Pick<ServiceContext, 'sandbox' | 'background'>,
  act: () => Promise<T>,
): Promise<T> {
  if (!given || given.length === 0) return act()
  const prepared = await (await sandboxOf({ sandbox }).faults.load()).prepare(given, 'faults')
  try {
    const value = await act()
    await background.share(async () => prepared.arm())
    return value
  } catch (error) {
    prepared.cancel()
    throw error
  }
}

interface SandboxFaultsOptions extends Pick<ServiceContext, 'clock' | 'alarm' | 'instance'> {
  readonly ports: OutwardPorts
  readonly seeded: readonly Fault[]
  /** The storage in which several processes count together: without faults, so that to count is no match itself. */
  readonly sharedBy: Storage | undefined
  loadOperations(): Promise<readonly string[]>
}

/** The faults of a sandbox. What makes them happen loads with the first one. */
export class SandboxFaults implements Faults {
  engine: FaultEngine | undefined
  #failed: StorageUnavailable | undefined
  #loading: Promise<FaultEngine> | undefined
  #loaded: FaultEngine | undefined

  constructor(readonly options: SandboxFaultsOptions) {}

  ports = (): OutwardPorts => faultyPorts(this.options.ports, this)

  /** What happens to each write. Undefined while no fault is armed. */
  get aroundWrites(): AroundWrites | undefined {
    return this.engine && this.#aroundWrites
  }

  /** Why the last write failed, if a fault made it fail, as long as faults are armed. */
  get storageFault(): StorageUnavailable | undefined {
    return this.engine && this.#failed
  }

  readonly #aroundWrites: AroundWrites = async (write, body, observer) => {
    const { engine } = this
    if (!engine) return write(body)
    try {
      const value = await engine.write(write, body, observer)
      this.#failed = undefined
      return value
    } catch (error) {
      if (engine.isOwn(error)) this.#failed = error
      throw error
    }
  }

  over = (note: NoteFault): OutwardPorts => faultyPorts(this.options.ports, this, note)

  load(): Promise<FaultEngine> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async prepareReset(): Promise<(() => void) | undefined> {
    const { seeded } = this.options
    if (seeded.length === 0 && !this.#loading) return undefined
    return (await this.load()).prepareAnew(seeded, 'faults')
  }

  shared = (): readonly SharedFault[] | undefined => this.#loaded?.shared()

  async follow(faults: readonly SharedFault[]): Promise<void> {
    if (faults.length > 0 || this.#loading) (await this.load()).follow(faults)
  }

  async #load(): Promise<FaultEngine> {
    const { clock, alarm, instance, sharedBy, loadOperations } = this.options
    const { ArmedEngine, SharedCounts } = await load(() => import('./engine.js'))
    const options = {
      now: () => clock.now(),
      instance,
      counts: sharedBy && new SharedCounts(sharedBy),
      loadOperations,
      onChange: (isArmed: boolean) => {
        this.engine = isArmed ? engine : undefined
      },
    }
    const engine: FaultEngine = new ArmedEngine(options, alarm)
    this.#loaded = engine
    return engine
  }
}

/** Ports to whose calls faults may happen. `note` gets those that do. */
function faultyPorts(ports: OutwardPorts, faults: Pick<Faults, 'engine'>, note?: NoteFault): OutwardPorts {
  const call = <T>(port: FaultPort, run: () => Promise<T>): Promise<T> =>
    faults.engine ? faults.engine.call({ port, note, run }) : run()
  return portsWithin(ports, call, (request) => {
    const { engine } = faults
    const run = () => ports.upstream.fetch(request)
    if (!engine) return run()
    const { method, url, headers } = request
    // Only webhooks are signed (Standard Webhooks).
    const port = 'webhook-signature' in headers ? 'webhook' : 'upstream'
    return engine.call({ port, method, path: new URL(url).pathname, note, run, answer: responseOf })
  })
}

const responseOf = ({ status, headers, body }: FaultyAnswer): Response => new Response(body, { status, headers })
