import type { Keyring } from './base/secrets.js'
import { ClockMoves } from './composition/clock-moves.js'
import { deliveryHandlers } from './composition/deliveries.js'
import { type OwnWork, SharedProcesses } from './composition/shared-processes.js'
import type { ServiceContext } from './http/context.js'
import { events } from './jobs/events/event.js'
import { Deliveries } from './jobs/outbox/deliveries.js'
import { outbox } from './jobs/outbox/outbox.js'
import { processes as processRows } from './jobs/processes/process-rows.js'
import { type Loop, runLoop } from './jobs/retries/loop.js'
import { Mutex } from './jobs/retries/mutex.js'
import { runDueTimers } from './jobs/schedule/run.js'
import { timers } from './jobs/schedule/timer.js'
import { Watches } from './jobs/watches/watches.js'
import { WebhookFeed } from './jobs/webhooks/feed.js'
import { webhooks } from './jobs/webhooks/webhook-row.js'
import type { SandboxFaults } from './sandbox/faults/faults.js'
import { settings } from './sandbox/settings/settings.js'
import { serviceStorage } from './storage/service-storage.js'
import type { Storage } from './storage/storage.js'
import type { Changes } from './storage/transaction.js'
import { timerJobs } from './timers.js'

/**
 * Delivers the outbox, runs timers when they are due, and hands events to webhooks: after each write that adds one, and as
 * time passes. None waits for another, unless the clock is stopped: then they take turns, so that every run does the same in
 * the same order. Returns the service's context.
 */
export function runInBackground(
  { base, watched, keys, faults }: BackgroundStorages,
  given: Omit<ServiceContext, 'storage' | 'background'>,
) {
  const watches = new Watches(given)
  const processes: SharedProcesses | undefined = base.isShared
    ? new SharedProcesses(base, (): OwnWork => ({ service, deliveries, loops, wake }))
    : undefined
  const storage = serviceStorage(watched, {
    keys,
    check: processes?.check,
    around: faults && (() => faults.aroundWrites),
    fault: faults && (() => faults.storageFault),
    parts: {
      ...(processes && { presence: processes }),
      async import(state, options) {
        if (processes) await watched.import(await processes.withRows(state), { ...options, check: processes.check })
        else await watched.import(state, options)
        wake()
        watches.wakeIn(undefined)
      },
    },
    onCommit(commit) {
      given.sandbox?.measurements?.countWrite(commit)
      let [isForFeed, isForTimers, isForDeliveries, isForAll] = [false, false, false, false]
      for (const { collection, rows } of commit.changes()) {
        const { name } = collection
        if (name === events.name || name === webhooks.name) isForFeed = feed.isWokenBy(name) || isForFeed
        else if (name === timers.name) isForTimers = holdsRow(rows)
        else if (name === outbox.name) isForDeliveries = holdsRow(rows)
        // Everything may depend on the clock of a sandbox.
        else if (name === settings.name) isForAll = rows.has('clock')
      }
      if (isForFeed) feedLoop.wake()
      if (isForTimers) timerLoop.wake()
      if (isForDeliveries) deliveryLoop.wake()
      if (isForAll) watches.wakeIn(undefined)
      else watches.wakeFor(commit)
    },
  })
  const wake = () => {
    feed.forget()
    feedLoop.wake()
    timerLoop.wake()
    deliveryLoop.wake()
  }
  /** A hint that other processes have written: to these collections, or nobody knows where. */
  function hear(names: readonly string[] | undefined): void {
    if (names === undefined || names.includes(processRows.name)) processes?.notice()
    watches.wakeIn(names)
    if (names !== undefined && !names.includes(webhooks.name)) return
    feed.forget()
    feedLoop.wake()
  }
  async function end(): Promise<void> {
    watches.end()
    await Promise.race([moves.finish(), given.ending.late])
    await Promise.race([Promise.all([feedLoop.stop(), timerLoop.stop(), deliveryLoop.stop()]), given.ending.late])
    await deliveries.finishAll(given.ending.late).catch((cause: unknown) => {
      given.log.error('the outcomes of the last messages could not be recorded', cause)
    })
    await processes?.leave()
  }
  base.watchOthers?.(hear).catch((cause: unknown) => given.log.error('no hints of other processes come', cause))
  const service: ServiceContext = Object.assign(given, {
    storage,
    background: {
      wake,
      end,
      charge: (message) => deliveries.charge(message),
      moveClock: (target, store) => moves.add(target, store),
      rest: (job, kind) => moves.rest(job, kind),
      share: (job) => moves.share(job),
      processes: () => processes?.names,
      watch: (options, read) => watches.watch({ storage, ...options }, read),
      pause: (ms, ending) => watches.pause(ms, ending),
      settling: () =>
        given.sandbox?.clock.mode === 'manual' && loops.some((loop) => loop.running() || loop.isResting)
          ? settle()
          : undefined,
    } satisfies ServiceContext['background'],
  })
  const deliveries = new Deliveries(deliveryHandlers, service, () => deliveryLoop.wake())
  const feed = new WebhookFeed(service)
  const mutex = new Mutex()
  const isStopped = () => given.sandbox?.clock.mode === 'manual'
  const inStep = async (round: () => Promise<number | undefined>): Promise<number | undefined> =>
    processes && !(await processes.isInStep()) ? undefined : round()
  const looped = (name: string, round: () => Promise<number | undefined>) =>
    runLoop({ name, round: () => inStep(() => (isStopped() ? mutex.run(round) : round())) }, service)
  const feedLoop = looped('webhooks', () => feed.round())
  const timerLoop = looped('timers', () => runDueTimers(timerJobs, service))
  const deliveryLoop = looped('deliveries', () => deliveries.round())
  const loops: readonly Loop[] = [feedLoop, timerLoop, deliveryLoop]
  /** Failed rounds are tried again at once, because it is unknown how much real time passes between two calls. */
  async function settle(): Promise<void> {
    for (let tries = 0; tries < MOST_SETTLING_TRIES; tries++) {
      for (const loop of loops) while (loop.running()) await loop.running()
      for (const loop of loops) loop.retryNow()
      if (!loops.some((loop) => loop.running())) return
    }
  }
  const moves = new ClockMoves({ service, deliveries, feed, loops, timerJobs, processes })
  return service
}

/** A storage in its layers, and what happens to it. */
export interface BackgroundStorages {
  /** What the option `storage` says. */
  readonly base: Storage
  /** The same, which tells what its commits replace, if the service has a history. */
  readonly watched: Storage
  readonly keys: () => Keyring
  readonly faults: Pick<SandboxFaults, 'aroundWrites' | 'storageFault'> | undefined
}

/** How often rounds that fail are tried before a call on a stopped clock goes on. */
const MOST_SETTLING_TRIES = 10

/** Whether any of these was put, and not removed. */
function holdsRow(rows: Changes['rows']): boolean {
  for (const row of rows.values()) if (row) return true
  return false
}
