import { load } from '../base/parts.js'
import type { ServiceContext } from '../http/context.js'
import type { Deliveries } from '../jobs/outbox/deliveries.js'
import { outbox } from '../jobs/outbox/outbox.js'
import type { ProcessGroup, SharedWork } from '../jobs/processes/process-group.js'
import { type ControlKind, readProcessRow } from '../jobs/processes/process-rows.js'
import { type Loop, Mutex, waitAtMost } from '../jobs/retries/loop.js'
import { redate } from '../jobs/schedule/due.js'
import { runTimerSlice, type TimerJobs } from '../jobs/schedule/run.js'
import { nextTimerDue, timers } from '../jobs/schedule/timer.js'
import type { WebhookFeed } from '../jobs/webhooks/feed.js'
import { sandboxOf } from '../sandbox/onion/context.js'
import { keepFaults, keptFaultCounts, withFaultCounts } from '../sandbox/settings/settings.js'
import type { Presence, Reader, State, Storage } from '../storage/storage.js'

/** How long a move of the clock waits for one delivery, in milliseconds of real time. A longer one goes on alone. */
export const PATIENCE_MS = 2000

export interface MovedWork {
  readonly service: ServiceContext
  readonly deliveries: Deliveries
  readonly feed: WebhookFeed
  readonly loops: readonly Loop[]
  readonly timerJobs: TimerJobs
  /** Undefined if no other process uses the storage. */
  readonly processes: SharedProcesses | undefined
}

/** Moves of a sandbox's clock, one after the other. */
export class ClockMoves {
  readonly #mutex = new Mutex()

  constructor(readonly work: MovedWork) {}

  /** `store` writes down where the clock is. */
  add(target: () => number, store: () => Promise<void>): Promise<void> {
    return this.#mutex.run(() => this.#move(target, store))
  }

  /** Runs a job between two moves, while no round runs in any process. */
  rest<T>(job: () => Promise<T>, kind: ControlKind): Promise<T> {
    return this.#mutex.run(() => this.#resting(job, kind))
  }

  /** Runs a job that all processes follow. No work needs to rest for it. */
  share<T>(job: () => Promise<T>): Promise<T> {
    const { processes } = this.work
    return processes ? this.#mutex.run(() => processes.together('faults', job)) : job()
  }

  finish(): Promise<void> {
    return this.#mutex.run(async () => {})
  }

  #move(target: () => number, store: () => Promise<void>): Promise<void> {
    const { deliveries, service } = this.work
    return this.#resting(async () => {
      await deliveries.finish(PATIENCE_MS)
      await deliveries.endTurns()
      const ms = target()
      await this.#workUntil(ms)
      service.sandbox?.clock.setTo(ms)
      await redate(timers, service)
      await redate(outbox, service)
      await store()
    }, 'clock')
  }

  #resting<T>(job: () => Promise<T>, kind: ControlKind): Promise<T> {
    const { loops, processes } = this.work
    const alone = async () => {
      await Promise.all(loops.map((loop) => loop.pause()))
      try {
        return await job()
      } finally {
        for (const loop of loops) loop.resume()
      }
    }
    return processes ? processes.together(kind, alone) : alone()
  }

  /** Does all work that is due until then, the earliest first and each at its time. Timers run before messages. */
  async #workUntil(ms: number): Promise<void> {
    const { deliveries, feed, service, timerJobs } = this.work
    const { storage, clock, sandbox } = service
    for (;;) {
      await feed.round()
      const timer = (await storage.read(nextTimerDue)) ?? Number.POSITIVE_INFINITY
      const message = (await deliveries.nextDue()) ?? Number.POSITIVE_INFINITY
      const due = Math.min(timer, message)
      if (due > clock.now() && due <= ms) sandbox?.clock.setTo(due)
      if (due > clock.now()) return
      if (timer <= message) await runTimerSlice(Math.min(message, clock.now()), timerJobs, service)
      else await deliveries.deliverInOrder(Math.min(timer, clock.now()), PATIENCE_MS)
    }
  }
}

export interface OwnWork extends Pick<MovedWork, 'service' | 'deliveries' | 'loops'> {
  wake(): void
}

/** Joins the processes that serve from a shared storage. What that takes loads with the start. */
export class SharedProcesses implements Presence {
  #group: ProcessGroup | undefined
  #entering: Promise<void> | undefined

  /** Of the storage without its wrappers: the journal and armed faults leave rows about processes out. */
  constructor(
    readonly storage: Storage,
    readonly own: () => OwnWork,
  ) {}

  get names(): readonly string[] {
    return this.#group?.names ?? [this.own().service.instance]
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
    return withFaultCounts(await this.#group.withRows(state), await this.storage.read(keptFaultCounts))
  }

  /** Throws `StorageUnavailable` if others have ended the control of this process, and it has not followed them. */
  readonly check = async (tx: Reader): Promise<void> => this.#group?.check(tx)

  async leave(): Promise<void> {
    await this.#entering?.catch(() => {})
    await this.#group?.leave()
  }

  async #enter(): Promise<void> {
    const { ProcessGroup } = await load(() => import('../jobs/processes/process-group.js'))
    const { instance, alarm, random, log } = this.own().service
    this.#group ??= new ProcessGroup({ storage: this.storage, instance, alarm, random, log }, sharedWork(this.own()))
    await this.#group.enter()
  }
}

const sharedWork = ({ service, deliveries, loops, wake }: OwnWork): SharedWork => ({
  async pause() {
    await Promise.all(loops.map((loop) => loop.pause()))
    // A clock that jumps could end the claims of flows that run here.
    const ended = waitAtMost(PATIENCE_MS, Promise.allSettled(service.ongoing.values()), service)
    await Promise.all([deliveries.finish(PATIENCE_MS), ended])
  },
  resume() {
    for (const loop of loops) loop.resume()
  },
  async store(tx) {
    const faults = service.sandbox && sandboxOf(service).faults.shared()
    if (faults) await keepFaults(tx, faults)
  },
  async follow(kind) {
    const { followState } = await load(() => import('../sandbox/controls/unfinished.js'))
    await followState(kind, service)
    wake()
  },
  async takeOver() {
    wake()
    const { endUnfinished } = await load(() => import('../sandbox/controls/unfinished.js'))
    await endUnfinished(service, false)
  },
})
