import type { CardRow } from './base/message.js'
import type { ChargeResult } from './base/ports.js'
import { required } from './base/required.js'
import { deliveryHandlers } from './deliveries.js'
import type { ServiceContext } from './http/context.js'
import { deliverClaimed, deliverMessage, nextMessage, outbox } from './jobs/outbox/outbox.js'
import { nextTimer, runTimer, timers } from './jobs/schedule/timer.js'
import type { AnyCollection, Storage } from './storage/storage.js'
import { TrackedTransaction } from './storage/tracked-transaction.js'
import { timerJobs } from './timers.js'

/** How long to wait after a round fails, for example because the storage did not answer. */
const ROUND_AGAIN_MS = 5000

interface Due {
  readonly due: number
  run(): Promise<void>
}

/**
 * Delivers the outbox and runs timers one after the other when they are due: after each write that adds one, and as
 * time passes. Returns the service's context. Closing its storage waits for work in progress.
 */
export function runInBackground(storage: Storage, given: Omit<ServiceContext, 'storage' | 'background'>) {
  const { clock, alarm, log } = given
  let working: Promise<void> = Promise.resolve()
  let woken = false
  let closing = false
  let cancelAlarm = () => {}
  /** Waiting callers, with the collections whose writes wake them. */
  const waiting = new Map<() => void, readonly string[]>()

  function wake(): void {
    // A round that has not started yet will find this work too.
    if (woken || closing) return
    woken = true
    working = working
      .then(() => {
        woken = false
        return work(() => clock.now())
      })
      .then(setAlarm)
      .catch((cause: unknown) => {
        log.error('due work failed and is tried again', cause)
        if (closing) return
        cancelAlarm()
        cancelAlarm = alarm.set(ROUND_AGAIN_MS, wake)
      })
  }

  /**
   * Does all due work, the earliest first. `advanceTo` returns the time before each piece. Returns the next piece that
   * is not due yet.
   */
  async function work(advanceTo: (due: number) => number): Promise<Due | undefined> {
    for (;;) {
      const next = await earliest()
      if (!next || next.due > advanceTo(next.due)) return next
      await next.run()
    }
  }

  async function earliest(): Promise<Due | undefined> {
    const [timer, message] = await storage.read(async (tx) => [await nextTimer(tx), await nextMessage(tx)] as const)
    if (timer && (!message || dueOf(timer) <= dueOf(message)))
      return { due: dueOf(timer), run: () => runTimer(timer, timerJobs, service) }
    return message && { due: dueOf(message), run: () => deliverMessage(message, deliveryHandlers, service) }
  }

  /** A manual clock needs no alarm, because it does not advance. */
  function setAlarm(next: Due | undefined): void {
    cancelAlarm()
    if (next && !closing && given.sandbox?.clock.mode !== 'manual')
      cancelAlarm = alarm.set(next.due - clock.now(), wake)
  }

  async function moveClock(target: () => number): Promise<void> {
    const moved = working.then(async () => {
      const ms = target()
      await work((due) => {
        if (due > clock.now() && due <= ms) given.sandbox?.clock.setTo(due)
        return clock.now()
      })
      given.sandbox?.clock.setTo(ms)
    })
    working = moved.catch(() => {})
    await moved
    wake()
  }

  /** Deliveries that callers started. */
  const delivering = new Set<Promise<unknown>>()

  async function charge(message: CardRow): Promise<ChargeResult | undefined> {
    const delivered = deliverClaimed(message, deliveryHandlers.card, service)
    delivering.add(delivered)
    return delivered.finally(() => delivering.delete(delivered))
  }

  const wakeWaiting = (written: readonly AnyCollection[]) => {
    for (const [wakeCaller, names] of waiting) if (written.some(({ name }) => names.includes(name))) wakeCaller()
  }

  function nextWrite(into: readonly string[], ms: number, ending?: AbortSignal): Promise<boolean> {
    const isOpen = () => !closing && !ending?.aborted
    if (!isOpen()) return Promise.resolve(false)
    return new Promise((resolve) => {
      const wakeCaller = () => {
        waiting.delete(wakeCaller)
        ending?.removeEventListener('abort', wakeCaller)
        cancel()
        resolve(isOpen())
      }
      const cancel = alarm.set(ms, wakeCaller)
      ending?.addEventListener('abort', wakeCaller)
      waiting.set(wakeCaller, into)
    })
  }

  const watching: Storage = {
    name: storage.name,
    exclusive: storage.exclusive,
    ...(storage.presence && { presence: storage.presence }),
    read: (body) => storage.read(body),
    export: () => storage.export(),
    async import(state) {
      await storage.import(state)
      wake()
    },
    async write(body) {
      let watched: TrackedTransaction | undefined
      const value = await storage.write((tx) => {
        watched = new TrackedTransaction(tx)
        return body(watched)
      })
      if (watched && isDueSet(watched)) wake()
      if (watched && waiting.size > 0) wakeWaiting([...watched.puts, ...watched.removals])
      return value
    },
    async close() {
      closing = true
      for (const wakeCaller of waiting.keys()) wakeCaller()
      await working
      await Promise.allSettled(delivering)
      cancelAlarm()
      await storage.close()
    },
  }
  const service: ServiceContext = Object.assign(given, {
    storage: watching,
    background: { wake, charge, moveClock, nextWrite },
  })
  return service
}

/** When work from the `byDue` index is due. */
const dueOf = ({ due_at }: { readonly due_at: number | null }): number => required(due_at, 'the time that work is due')

/** Whether a transaction put a timer or a message. */
const isDueSet = ({ puts }: TrackedTransaction): boolean =>
  puts.some(({ name }) => name === outbox.name || name === timers.name)
