import type { Keyring } from './base/secrets.js'
import { ClockMoves, SharedProcesses } from './composition/clock-moves.js'
import { deliveryHandlers } from './composition/deliveries.js'
import type { ServiceContext } from './http/context.js'
import { events } from './jobs/events/event.js'
import { Deliveries } from './jobs/outbox/deliveries.js'
import { outbox } from './jobs/outbox/outbox.js'
import { processes as processRows } from './jobs/processes/process-rows.js'
import { Loop, Mutex } from './jobs/retries/loop.js'
import { runDueTimers } from './jobs/schedule/run.js'
import { timers } from './jobs/schedule/timer.js'
import { Watches } from './jobs/watches/watches.js'
import { WebhookFeed } from './jobs/webhooks/feed.js'
import { webhooks } from './jobs/webhooks/webhook-row.js'
import type { SandboxFaults } from './sandbox/faults/faults.js'
import { settings } from './sandbox/settings/settings.js'
import { type ServiceStorage, serviceStorage } from './storage/service-storage.js'
import type { Storage } from './storage/storage.js'
import type { Changes, CommitRecord } from './storage/transaction.js'
import { timerJobs } from './timers.js'

/** A storage in its layers, and what happens to it. */
export interface BackgroundStorages {
  /** What the option `storage` says. */
  readonly base: Storage
  /** The same, which tells what its commits replace, if the service has a history. */
  readonly watched: Storage
  readonly keys: () => Keyring
  readonly faults: Pick<SandboxFaults, 'engine' | 'aroundWrites' | 'storageFault'> | undefined
}

type Given = Omit<ServiceContext, 'storage' | 'background'>

/** Does the work of a service that no request waits for. Returns the service's context. */
export const runInBackground = (storages: BackgroundStorages, given: Given): ServiceContext =>
  new BackgroundWork(storages, given).service

/** How often rounds that fail are tried before a call on a stopped clock goes on. */
const MOST_SETTLING_TRIES = 10

/**
 * Delivers the outbox, runs timers when they are due, and hands events to webhooks: after each write that adds one, and as
 * time passes. None waits for another, unless the clock is stopped: then they take turns, so that every run does the same in
 * the same order.
 */
class BackgroundWork {
  readonly service: ServiceContext
  readonly deliveries: Deliveries
  readonly loops: readonly Loop[]
  readonly #given: Given
  readonly #watches: Watches
  readonly #processes: SharedProcesses | undefined
  readonly #feed: WebhookFeed
  readonly #feedLoop: Loop
  readonly #timerLoop: Loop
  readonly #deliveryLoop: Loop
  readonly #moves: ClockMoves
  readonly #mutex = new Mutex()

  constructor(storages: BackgroundStorages, given: Given) {
    const { base } = storages
    // A browser tells itself which tabs and workers live.
    const isAlone = base.exclusive || (base.presence !== undefined && !base.isShared)
    this.#given = given
    this.#watches = new Watches(given)
    this.#processes = isAlone ? undefined : new SharedProcesses(base, () => this)
    this.service = Object.assign(given, { storage: this.#storageOver(storages), background: this.#asContext() })
    this.deliveries = new Deliveries(deliveryHandlers, this.service, () => this.#deliveryLoop.wake())
    this.#feed = new WebhookFeed(this.service)
    this.#feedLoop = this.#looped('webhooks', () => this.#feed.round())
    this.#timerLoop = this.#looped('timers', () => runDueTimers(timerJobs, this.service))
    this.#deliveryLoop = this.#looped('deliveries', () => this.deliveries.round())
    this.loops = [this.#feedLoop, this.#timerLoop, this.#deliveryLoop]
    const { service, deliveries, loops } = this
    this.#moves = new ClockMoves({
      ...{ service, deliveries, loops, timerJobs },
      feed: this.#feed,
      processes: this.#processes,
    })
    base
      .watchOthers?.((names) => this.#hear(names))
      .catch((cause: unknown) => given.log.error('no hints of other processes come', cause))
  }

  readonly wake = (): void => {
    this.#feed.forget()
    for (const loop of this.loops) loop.wake()
  }

  #asContext(): ServiceContext['background'] {
    return {
      wake: this.wake,
      end: () => this.#end(),
      charge: (message) => this.deliveries.charge(message),
      moveClock: (target, store) => this.#moves.add(target, store),
      rest: (job, kind) => this.#moves.rest(job, kind).finally(() => this.#wakeReaders(kind)),
      share: (job) => this.#moves.share(job),
      processes: () => this.#processes?.names,
      watch: (options, read) => this.#watches.watch({ storage: this.service.storage, ...options }, read),
      pause: (ms, ending) => this.#watches.pause(ms, ending),
      settling: () =>
        this.#isStopped && this.loops.some((loop) => loop.isRunning || loop.isResting) ? this.#settle() : undefined,
    }
  }

  /** Rows that a rewind removed are in no index in which a reader would notice them. */
  #wakeReaders(kind: 'clock' | 'state'): void {
    if (kind === 'state') this.#watches.wakeIn(undefined)
  }

  #storageOver({ watched, keys, faults }: BackgroundStorages): ServiceStorage {
    const processes = this.#processes
    return serviceStorage(watched, {
      keys,
      check: processes?.check,
      around: faults && (() => (faults.engine ? faults.aroundWrites : undefined)),
      fault: faults && (() => faults.storageFault),
      parts: {
        ...(processes && { presence: processes }),
        import: async (state, options) => {
          if (processes) await watched.import(await processes.withRows(state), { ...options, check: processes.check })
          else await watched.import(state, options)
          this.wake()
          this.#watches.wakeIn(undefined)
        },
      },
      onCommit: (commit) => this.#wakeFor(commit),
    })
  }

  /** This process has written. */
  #wakeFor(commit: CommitRecord): void {
    this.#given.sandbox?.onCommit(commit)
    let [isForFeed, isForTimers, isForDeliveries, isForAll] = [false, false, false, false]
    for (const { collection, rows } of commit.changes()) {
      const { name } = collection
      if (name === events.name || name === webhooks.name) isForFeed = this.#feed.isWokenBy(name) || isForFeed
      else if (name === timers.name) isForTimers = holdsRow(rows)
      else if (name === outbox.name) isForDeliveries = holdsRow(rows)
      // Everything may depend on the clock of a sandbox.
      else if (name === settings.name) isForAll = rows.has('clock')
    }
    if (isForFeed) this.#feedLoop.wake()
    if (isForTimers) this.#timerLoop.wake()
    if (isForDeliveries) this.#deliveryLoop.wake()
    if (isForAll) this.#watches.wakeIn(undefined)
    else this.#watches.wakeFor(commit)
  }

  /** A hint that other processes have written: to these collections, or nobody knows where. */
  #hear(names: readonly string[] | undefined): void {
    if (names === undefined || names.includes(processRows.name)) this.#processes?.notice()
    this.#watches.wakeIn(names)
    if (names !== undefined && !names.includes(webhooks.name)) return
    this.#feed.forget()
    this.#feedLoop.wake()
  }

  #looped(name: string, round: () => Promise<number | undefined>): Loop {
    const inTurn = () => (this.#isStopped ? this.#mutex.run(round) : round())
    const inStep = async () => (this.#processes && !(await this.#processes.isInStep()) ? undefined : inTurn())
    return new Loop({ name, round: inStep }, this.service)
  }

  get #isStopped(): boolean {
    return this.#given.sandbox?.clock.mode === 'manual'
  }

  /** Failed rounds are tried again at once, because it is unknown how much real time passes between two calls. */
  async #settle(): Promise<void> {
    for (let tries = 0; tries < MOST_SETTLING_TRIES; tries++) {
      for (const loop of this.loops) await loop.idle()
      for (const loop of this.loops) loop.retryNow()
      if (!this.loops.some((loop) => loop.isRunning)) return
    }
  }

  async #end(): Promise<void> {
    const { ending, log } = this.#given
    this.#watches.end()
    await Promise.race([this.#moves.finish(), ending.late])
    await Promise.race([Promise.all(this.loops.map((loop) => loop.stop())), ending.late])
    await this.deliveries.finishAll(ending.late).catch((cause: unknown) => {
      log.error('the outcomes of the last messages could not be recorded', cause)
    })
    await this.#processes?.leave()
  }
}

/** Whether any of these was put, and not removed. */
function holdsRow(rows: Changes['rows']): boolean {
  for (const row of rows.values()) if (row) return true
  return false
}
