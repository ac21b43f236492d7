import { load } from '../../base/load.js'
import type { ServiceContext } from '../../http/context.js'
import type { AroundWrites } from '../../storage/service-storage.js'
import type { Storage, StorageUnavailable } from '../../storage/storage.js'
import type { Fault, FaultEngine, Faults, NoteFault, OutwardPorts, SharedFault } from '../onion/fault.js'
import { faultyPorts } from './ports.js'

export interface SandboxFaultsOptions extends Pick<ServiceContext, 'clock' | 'alarm' | 'instance'> {
  readonly ports: OutwardPorts
  /** The faults of the seed. */
  readonly seeded: readonly Fault[]
  /** The storage in which several processes count together: without faults, so that to count is no match itself. */
  readonly sharedBy: Storage | undefined
  /** The ids of all operations that faults may match. */
  loadOperations(): Promise<readonly string[]>
}

/** The faults of a sandbox. What makes them happen loads with the first one. */
export class SandboxFaults implements Faults {
  engine: FaultEngine | undefined
  readonly #options: SandboxFaultsOptions
  /** The last failure of a write, if a fault made it. */
  #failed: StorageUnavailable | undefined
  #loading: Promise<FaultEngine> | undefined
  #loaded: FaultEngine | undefined

  constructor(options: SandboxFaultsOptions) {
    this.#options = options
  }

  /** The ports of the service with their faults. */
  ports(): OutwardPorts {
    return faultyPorts(this.#options.ports, this)
  }

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

  over(note: NoteFault): OutwardPorts {
    return faultyPorts(this.#options.ports, this, note)
  }

  load(): Promise<FaultEngine> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async prepareReset(): Promise<(() => void) | undefined> {
    const { seeded } = this.#options
    if (seeded.length === 0 && !this.#loading) return undefined
    return (await this.load()).prepareAnew(seeded, 'faults')
  }

  shared(): readonly SharedFault[] | undefined {
    return this.#loaded?.shared()
  }

  async follow(faults: readonly SharedFault[]): Promise<void> {
    if (faults.length > 0 || this.#loading) (await this.load()).follow(faults)
  }

  async #load(): Promise<FaultEngine> {
    const { clock, alarm, instance, sharedBy, loadOperations } = this.#options
    const { ArmedEngine, ArmedFaults, SharedCounts } = await load(() => import('./engine.js'))
    const armed = new ArmedFaults({
      now: () => clock.now(),
      instance,
      counts: sharedBy && new SharedCounts(sharedBy),
      loadOperations,
      onChange: (isArmed) => {
        this.engine = isArmed ? engine : undefined
      },
    })
    const engine = new ArmedEngine(armed, { alarm })
    this.#loaded = engine
    return engine
  }
}
