import { ClockMoves } from './composition/clock-moves.js'
import { deliveryHandlers } from './composition/deliveries.js'
import { type OwnWork, SharedProcesses } from './composition/shared-processes.js'
import type { ServiceContext } from './http/context.js'
import { leases } from './jobs/leases/lease.js'
import { Deliveries } from './jobs/outbox/deliveries.js'
import { outbox } from './jobs/outbox/outbox.js'
import { type Loop, runLoop } from './jobs/retries/loop.js'
import { Turns } from './jobs/retries/turns.js'
import { runDueTimers } from './jobs/schedule/run.js'
import { timers } from './jobs/schedule/timer.js'
import { Watches } from './jobs/watches/watches.js'
import { WebhookFeed } from './jobs/webhooks/feed.js'
import { webhooks } from './jobs/webhooks/webhook-row.js'
import { settings } from './sandbox/settings/settings.js'
import type { AnyCollection, Storage } from './storage/storage.js'
import { storageOver } from './storage/storage-over.js'
import { type RowChange, TrackedTransaction } from './storage/tracked-transaction.js'
import { timerJobs } from './timers.js'

/**
 * Delivers the outbox, runs timers when they are due, and hands events to webhooks: after each write that adds one, and as
 * time passes. None waits for another, unless the clock is stopped: then they take turns, so that every run does the same in
 * the same order. Returns the service's context.
 */
export function runInBackground(
  { base, storage, over }: BackgroundStorages,
  given: Omit<ServiceContext, 'storage' | 'background'>,
) {
  const watches = new Watches(given)
  const processes: SharedProcesses | undefined = base.isShared
    ? new SharedProcesses(base, (): OwnWork => ({ service, deliveries, loops, wake }))
    : undefined
  const watching = storageOver(storage, {
    ...(processes && { presence: processes }),
    async import(state, options) {
      if (processes) await storage.import(await processes.withRows(state), { ...options, check: processes.check })
      else await storage.import(state, options)
      wake()
      watches.wakeIn(undefined)
    },
    async write(body) {
      let watched: TrackedTransaction | undefined
      let runs = 0
      const value = await storage.write(async (tx) => {
        runs++
        if (processes) await processes.check(tx)
        watched = new TrackedTransaction(tx)
        return body(watched)
      })
      if (watched) given.sandbox?.measurements?.countWrite(watched, runs)
      if (watched && feed.isWokenBy([...watched.puts, ...watched.removals])) feedLoop.wake()
      if (watched && isPut(watched, timers)) timerLoop.wake()
      if (watched && isPut(watched, outbox)) deliveryLoop.wake()
      if (watched?.changes.some(isClock)) watches.wakeIn(undefined)
      else if (watched) watches.wakeFor(watched.changes)
      return value
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
    if (names === undefined || names.includes(leases.name)) processes?.notice()
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
    storage: over(watching),
    background: {
      wake,
      end,
      charge: (message) => deliveries.charge(message),
      moveClock: (target, store) => moves.add(target, store),
      rest: (job, kind) => moves.rest(job, kind),
      share: (job) => moves.share(job),
      processes: () => processes?.names,
      watch: (options, read) => watches.watch({ storage: service.storage, ...options }, read),
      pause: (ms, ending) => watches.pause(ms, ending),
      settling: () => (isStopped() && loops.some((loop) => loop.running() || loop.isResting) ? settle() : undefined),
    } satisfies ServiceContext['background'],
  })
  const deliveries = new Deliveries(deliveryHandlers, service, () => deliveryLoop.wake())
  const feed = new WebhookFeed(service)
  const turns = new Turns()
  const isStopped = () => given.sandbox?.clock.mode === 'manual'
  const inStep = async (round: () => Promise<number | undefined>): Promise<number | undefined> =>
    processes && !(await processes.isInStep()) ? undefined : round()
  const looped = (name: string, round: () => Promise<number | undefined>) =>
    runLoop({ name, round: () => inStep(() => (isStopped() ? turns.take(round) : round())) }, service)
  const feedLoop = looped('webhooks', () => feed.round())
  const timerLoop = looped('timers', () => runDueTimers(timerJobs, service))
  const deliveryLoop = looped('deliveries', () => deliveries.round())
  const loops: readonly Loop[] = [feedLoop, timerLoop, deliveryLoop]
  /** Failed rounds are tried again at once, because nobody knows how much real time passes between two calls. */
  async function settle(): Promise<void> {
    for (let tries = 0; tries < MOST_SETTLING_TRIES; tries++) {
      for (const loop of loops) while (loop.running()) await loop.running()
      for (const loop of loops) loop.hurry()
      if (!loops.some((loop) => loop.running())) return
    }
  }
  const moves = new ClockMoves({ service, deliveries, feed, loops, timerJobs, processes })
  return service
}

/** A storage in its layers. */
export interface BackgroundStorages {
  /** What the option `storage` says. */
  readonly base: Storage
  /** The same with its fields encrypted. */
  readonly storage: Storage
  /** Wraps the storage that the service gets. */
  over(storage: Storage): Storage
}

/** How often rounds that fail are tried before a call on a stopped clock goes on. */
const MOST_SETTLING_TRIES = 10

/** Whether a sandbox's clock was moved, on which everything may depend. */
const isClock = ({ into, id }: RowChange): boolean => into.name === settings.name && id === 'clock'

const isPut = ({ puts }: TrackedTransaction, { name }: AnyCollection): boolean => puts.some((put) => put.name === name)
