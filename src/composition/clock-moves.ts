import type { ServiceContext } from '../http/context.js'
import type { Deliveries } from '../jobs/outbox/deliveries.js'
import { outbox } from '../jobs/outbox/outbox.js'
import type { ControlKind } from '../jobs/processes/process-rows.js'
import { type Loop, Mutex } from '../jobs/retries/loop.js'
import { redate } from '../jobs/schedule/due.js'
import { runTimerSlice, type TimerJobs } from '../jobs/schedule/run.js'
import { nextTimerDue, timers } from '../jobs/schedule/timer.js'
import type { WebhookFeed } from '../jobs/webhooks/feed.js'
import type { SharedProcesses } from './shared-processes.js'

/** How long a move of the clock waits for one delivery, in milliseconds of real time. A longer one goes on alone. */
export const PATIENCE_MS = 2000

/** What moves of the clock stop, and run in its order. */
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

  /** Resolves when no move runs. */
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
