import { memoryStorage } from '../../../adapters/storage/memory.js'
import type { OutboxRow } from '../../../src/base/message.js'
import type { ServiceContext } from '../../../src/http/context.js'
import { Deliveries } from '../../../src/jobs/outbox/deliveries.js'
import type { DeliveryHandlers, Retry } from '../../../src/jobs/outbox/delivery.js'
import { collection, type Presence, type Writer } from '../../../src/storage/storage.js'
import { Transaction } from '../../../src/storage/transaction.js'

export const AT = Date.UTC(2031, 4, 1)
/** One for each outcome that was recorded. */
export const notes = collection<{ readonly id: string }>()('notes', {})

/** A message at its port, which answers when the test says so. */
export interface PortCall {
  readonly message: OutboxRow
  answer(result?: unknown): void
  fail(): void
}

export interface OutboxWorldOptions {
  /** The mode of the sandbox's clock. Default: no sandbox. */
  readonly mode?: 'manual' | 'running'
  readonly presence?: Presence
  readonly recorder?: object
  readonly cardMs?: number
  /** What the outcome of a message becomes, in the transaction that records it. */
  settle?(message: OutboxRow, tx: Writer): 'sent' | 'failed' | Retry
  readonly handlers?: Partial<DeliveryHandlers>
}

/** Deliveries alone over a storage in memory, with ports and a time that the test moves. Jitter is an eighth. */
export function newOutboxWorld({ mode, presence, recorder, cardMs = 0, settle, handlers }: OutboxWorldOptions = {}) {
  const storage = memoryStorage()
  const clock = { at: AT, now: () => clock.at, mode }
  const alarms = new Set<{ readonly at: number; readonly ring: () => void }>()
  const logged: string[] = []
  const [dead, givenUp] = [new Map<string, object>(), new Set<number>()]
  const world = { writes: 0, reads: 0, isWoken: false, drawn: 0 }
  /** What the next writes throw. */
  const faults: (string | undefined)[] = []
  const calls: PortCall[] = []
  const closing = new Set<() => void>()
  /** A round that never ends would let no test end. */
  const read: typeof storage.read = (body) =>
    world.reads++ < 10_000 ? storage.read(body) : Promise.reject(new Error('there is always more to do'))
  const write = (body: (tx: Writer) => Promise<unknown>, observer?: { noteFault?(id: string): void }) => {
    world.writes++
    const fault = faults.shift()
    // Each body runs twice, as in a storage whose transactions may meet.
    const twice = (tx: Writer) => body(new Transaction(tx)).then(() => body(tx))
    if (fault === undefined) return storage.write(twice)
    observer?.noteFault?.(fault)
    return Promise.reject(new Error(fault))
  }
  const bytes = (count: number) => {
    const all = new Uint8Array(count)
    if (count === 2) all[0] = 128
    else new DataView(all.buffer).setUint32(0, world.drawn++)
    return all
  }
  const service = {
    ...{ storage: { ...storage, exclusive: presence === undefined, presence, read, write }, clock, random: { bytes } },
    ...{ instance: 'a', ongoing: new Map(), limits: { cardMs }, sandbox: mode && { clock }, recorder },
    log: { error: (line: string) => void logged.push(line) },
    alarm: {
      set(ms: number, ring: () => void) {
        const alarm = { at: clock.at + ms, ring }
        alarms.add(alarm)
        return () => alarms.delete(alarm)
      },
    },
    ending: { onCallsEnd: (end: () => void) => closing.add(end) && (() => closing.delete(end)) },
    recordDeadLetter: async (_: unknown, letter: { readonly id: string }) => void dead.set(letter.id, letter),
  } as unknown as ServiceContext // As much of it as deliveries need.
  const handler = async () => ({
    send: (message: OutboxRow) =>
      new Promise((answer, reject) => {
        calls.push({ message, answer: (result = 'sent') => answer(result), fail: () => reject(new Error('refused')) })
      }),
    async settle(tx: Writer, message: OutboxRow) {
      tx.put(notes, { id: `${message.id}` })
      return settle?.(message, tx) ?? 'sent'
    },
    giveUp: async (_: Writer, { id }: OutboxRow) => void givenUp.add(id),
  })
  const all = { mail: handler, push: handler, card: handler, refund: handler, webhook: handler, ...handlers }
  const deliveries = new Deliveries(all as unknown as DeliveryHandlers, service, () => (world.isWoken = true))
  /** Lets everything happen that needs no time. */
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    ...{ storage, clock, alarms, logged, dead, givenUp, faults, calls, closing, service, deliveries, world, turn },
    rows: async () => ((await storage.export()).rows.outbox ?? []) as unknown as OutboxRow[],
    noted: async () => ((await storage.export()).rows.notes ?? []).map(({ id }) => Number(id)).sort((a, b) => a - b),
    /** Runs rounds until no other one has anything to do. Returns when the last one wants the next. */
    async rounds() {
      for (let n = 0; n < 100; n++) {
        world.isWoken = false
        const next = await deliveries.round()
        await turn()
        if (!world.isWoken) return next
      }
      throw new Error('there is always more to do')
    },
    /** Moves the clock, and rings. */
    async pass(ms: number) {
      clock.at += ms
      for (const alarm of [...alarms]) if (alarm.at <= clock.at && alarms.delete(alarm)) alarm.ring()
      await turn()
    },
    /** Takes what is at the ports. */
    take: () => calls.splice(0),
  }
}
