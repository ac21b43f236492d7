import { load } from '../../base/load.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import type { Fault, FaultEngine, Faults, FaultyPorts, NoteFault, SharedFault } from '../../http/faults.js'
import type { Storage } from '../../storage/storage.js'
import { type CalmPorts, faultyPorts, StorageFaults } from './ports.js'

export interface SandboxFaultsOptions extends Pick<ServiceContext, 'clock' | 'alarm' | 'instance'> {
  readonly ports: CalmPorts
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
  #storage: StorageFaults | undefined
  #loading: Promise<FaultEngine> | undefined
  #loaded: FaultEngine | undefined

  constructor(options: SandboxFaultsOptions) {
    this.#options = options
  }

  /** The ports of the service with their faults. */
  ports(): CalmPorts {
    return faultyPorts(this.#options.ports, this)
  }

  /** The storage of the service with its faults. Call it once, before `over`. */
  storage(storage: Storage): Storage {
    this.#storage = new StorageFaults(storage, this)
    return this.#storage.over()
  }

  over(note: NoteFault): FaultyPorts {
    const storage = required(this.#storage, 'the storage of the service').over(note)
    return { ...faultyPorts(this.#options.ports, this, note), storage }
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
