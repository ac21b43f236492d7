import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import type { AroundWrites } from '../../storage/service-storage.js'
import type { Storage, StorageUnavailable } from '../../storage/storage.js'
import {
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

export interface SandboxFaultsOptions extends Pick<ServiceContext, 'clock' | 'alarm' | 'instance'> {
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
export function faultyPorts(ports: OutwardPorts, faults: Pick<Faults, 'engine'>, note?: NoteFault): OutwardPorts {
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
