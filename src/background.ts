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

/** After a round that broke off, as when the storage did not answer. */
const ROUND_AGAIN_MS = 5000

interface Due {
  readonly due: number
  run(): Promise<void>
}

/**
 * Delivers the outbox and runs timers, one after the other, as they fall due: after each write that put one there, and as time passes.
 * Gives the storage to write through; closing that waits for what is running.
 */
export function runInBackground(storage: Storage, given: Omit<ServiceContext, 'storage' | 'background'>) {
  const { clock, alarm, log } = given
  let working: Promise<void> = Promise.resolve()
  let woken = false
  let closing = false
  let cancelAlarm = () => {}
  /** Who waits for something to be written, and into which collections. */
  const waiting = new Map<() => void, readonly string[]>()

  function wake(): void {
    // A round that has not begun yet will see this as well.
    if (woken || closing) return
    woken = true
    working = working
      .then(() => {
        woken = false
        return work(() => clock.now())
      })
      .then(setAlarm)
      .catch((cause: unknown) => {
        log.error('what was due could not be done', cause)
        if (closing) return
        cancelAlarm()
        cancelAlarm = alarm.set(ROUND_AGAIN_MS, wake)
      })
  }

  /** Does all that is due, the earliest first, before each of which `reach` says how far time has come. Gives what is next. */
  async function work(reach: (due: number) => number): Promise<Due | undefined> {
    for (;;) {
      const next = await earliest()
      if (!next || next.due > reach(next.due)) return next
      await next.run()
    }
  }

  async function earliest(): Promise<Due | undefined> {
    const [timer, message] = await storage.read(async (tx) => [await nextTimer(tx), await nextMessage(tx)] as const)
    if (timer && (!message || dueOf(timer) <= dueOf(message)))
      return { due: dueOf(timer), run: () => runTimer(timer, timerJobs, service) }
    return message && { due: dueOf(message), run: () => deliverMessage(message, deliveryHandlers, service) }
  }

  /** A clock that stands still comes no nearer to anything. */
  function setAlarm(next: Due | undefined): void {
    cancelAlarm()
    if (next && !closing && given.sandbox?.clock.mode !== 'manual')
      cancelAlarm = alarm.set(next.due - clock.now(), wake)
  }

  async function moveClock(aim: () => number): Promise<void> {
    const moved = working.then(async () => {
      const ms = aim()
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

  /** Messages that callers deliver themselves. */
  const delivering = new Set<Promise<unknown>>()

  async function charge(message: CardRow): Promise<ChargeResult | undefined> {
    const delivered = deliverClaimed(message, deliveryHandlers.card, service)
    delivering.add(delivered)
    return delivered.finally(() => delivering.delete(delivered))
  }

  const callWaiting = (written: readonly AnyCollection[]) => {
    for (const [call, names] of waiting) if (written.some(({ name }) => names.includes(name))) call()
  }

  function nextWrite(into: readonly string[], ms: number, ending?: AbortSignal): Promise<boolean> {
    const goesOn = () => !closing && !ending?.aborted
    if (!goesOn()) return Promise.resolve(false)
    return new Promise((resolve) => {
      const come = () => {
        waiting.delete(come)
        ending?.removeEventListener('abort', come)
        cancel()
        resolve(goesOn())
      }
      const cancel = alarm.set(ms, come)
      ending?.addEventListener('abort', come)
      waiting.set(come, into)
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
      if (watched && waiting.size > 0) callWaiting([...watched.puts, ...watched.removals])
      return value
    },
    async close() {
      closing = true
      for (const call of waiting.keys()) call()
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

/** When work of the index of what is due falls due. */
const dueOf = ({ due_at }: { readonly due_at: number | null }): number => required(due_at, 'the time that work is due')

/** Whether anything was put there that falls due. */
const isDueSet = ({ puts }: TrackedTransaction): boolean =>
  puts.some(({ name }) => name === outbox.name || name === timers.name)
