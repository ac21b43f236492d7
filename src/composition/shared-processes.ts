import { load } from '../base/load.js'
import type { ServiceContext } from '../http/context.js'
import type { Deliveries } from '../jobs/outbox/deliveries.js'
import type { ProcessGroup, SharedWork } from '../jobs/processes/process-group.js'
import { type ControlKind, readProcessRow } from '../jobs/processes/process-rows.js'
import type { Loop } from '../jobs/retries/loop.js'
import { sandboxOf } from '../sandbox/onion/context.js'
import { keepFaults, keptFaultCounts, withFaultCounts } from '../sandbox/settings/settings.js'
import type { Presence, Reader, State, Storage } from '../storage/storage.js'
import { PATIENCE_MS } from './clock-moves.js'

/** The background work of this process. */
export interface OwnWork {
  readonly service: ServiceContext
  readonly deliveries: Deliveries
  readonly loops: readonly Loop[]
  wake(): void
}

/** Joins the processes that serve from a shared storage. What that takes loads with the start. */
export class SharedProcesses implements Presence {
  readonly #storage: Storage
  readonly #own: () => OwnWork
  #group: ProcessGroup | undefined
  #entering: Promise<void> | undefined

  /** Of the storage without its wrappers: the journal and armed faults leave rows about processes out. */
  constructor(storage: Storage, own: () => OwnWork) {
    this.#storage = storage
    this.#own = own
  }

  get names(): readonly string[] {
    return this.#group?.names ?? [this.#own().service.instance]
  }

  enter(): Promise<void> {
    this.#entering ??= this.#enter().catch((error: unknown) => {
      this.#entering = undefined
      throw error
    })
    return this.#entering
  }

  /** Each process removes the rows of those whose hearts stopped. */
  async isAlive(name: string, tx: Reader): Promise<boolean> {
    return (await readProcessRow(tx, name)) !== undefined
  }

  /** Whether this process has the clock of the others. If not, it takes that over, and then its work goes on. */
  async isInStep(): Promise<boolean> {
    return this.#group ? this.#group.isInStep() : true
  }

  /** Some process may have written its row, or that of a control. */
  notice(): void {
    this.#group?.notice()
  }

  together<T>(kind: ControlKind, job: () => Promise<T>): Promise<T> {
    return this.#group ? this.#group.together(kind, job) : job()
  }

  /** A state to import. The processes that use the storage go on using it, and go on counting faults. */
  async withRows(state: State): Promise<State> {
    if (!this.#group) return state
    return withFaultCounts(await this.#group.withRows(state), await this.#storage.read(keptFaultCounts))
  }

  /** Throws `StorageUnavailable` if others have ended the control of this process, and it has not followed them. */
  readonly check = async (tx: Reader): Promise<void> => this.#group?.check(tx)

  async leave(): Promise<void> {
    await this.#entering?.catch(() => {})
    await this.#group?.leave()
  }

  async #enter(): Promise<void> {
    const { ProcessGroup } = await load(() => import('../jobs/processes/process-group.js'))
    const { instance, alarm, random, log } = this.#own().service
    this.#group ??= new ProcessGroup({ storage: this.#storage, instance, alarm, random, log }, sharedWork(this.#own()))
    await this.#group.enter()
  }
}

const sharedWork = ({ service, deliveries, loops, wake }: OwnWork): SharedWork => ({
  async pause() {
    await Promise.all(loops.map((loop) => loop.pause()))
    await Promise.all([deliveries.finish(PATIENCE_MS), ongoingEnded(service)])
  },
  resume() {
    for (const loop of loops) loop.resume()
  },
  async store(tx) {
    const faults = service.sandbox && sandboxOf(service).faults.shared()
    if (faults) await keepFaults(tx, faults)
  },
  async follow(kind) {
    const { followState } = await load(() => import('../sandbox/controls/follow-state.js'))
    await followState(kind, service)
    wake()
  },
  async takeOver() {
    wake()
    const { endUnfinished } = await load(() => import('../sandbox/controls/unfinished.js'))
    await endUnfinished(service, false)
  },
})

/** Resolves when the flows that run here have ended, or take long. A clock that jumps could end their claims. */
async function ongoingEnded({ ongoing, alarm }: ServiceContext): Promise<void> {
  let cancel = () => {}
  const late = new Promise<void>((resolve) => (cancel = alarm.set(PATIENCE_MS, resolve)))
  await Promise.race([Promise.allSettled(ongoing.values()), late])
  cancel()
}
