import { load } from '../../base/load.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import type { Fault, FaultEngine, Faults, FaultyPorts, NoteFault } from '../../http/faults.js'
import type { Storage } from '../../storage/storage.js'
import { type CalmPorts, faultyPorts, StorageFaults } from './ports.js'

export interface SandboxFaultsOptions extends Pick<ServiceContext, 'clock' | 'alarm'> {
  readonly ports: CalmPorts
  /** The faults of the seed. */
  readonly seeded: readonly Fault[]
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

  async prepareReset(): Promise<() => void> {
    const { seeded } = this.#options
    if (seeded.length === 0 && !this.#loading) return () => {}
    return (await this.load()).prepareAnew(seeded, 'faults')
  }

  shared(): readonly Fault[] | undefined {
    return this.#loaded?.list().map(({ fired: _, ...fault }) => fault)
  }

  async follow(faults: readonly Fault[]): Promise<void> {
    if (faults.length > 0 || this.#loading) (await this.load()).follow(faults)
  }

  async #load(): Promise<FaultEngine> {
    const { clock, alarm, loadOperations } = this.#options
    const { ArmedEngine, ArmedFaults } = await load(() => import('./engine.js'))
    const armed = new ArmedFaults({
      now: () => clock.now(),
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
