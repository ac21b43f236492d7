import type { CardRow, OutboxRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { ObservedStorage, type ServiceStorage } from '../../storage/service-storage.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Transaction } from '../../storage/transaction.js'
import { isObject } from '../../storage/unknown.js'
import { waitAtMost } from '../retries/loop.js'
import { isAnyAhead, redate, runInParts } from '../schedule/due.js'
import { claimDue, type DueSearch, findDue, inOrder, type Lane, lanes, type Sharing } from './claiming.js'
import { type DeliveryHandlers, deliverBy, deliverMessage, type Outcome } from './delivery.js'
import { outbox } from './outbox.js'
import { endTurns, findTurns, findWhetherTurnsWait, type Sharer, Shares, SlowSharers, sharerOf } from './shares.js'

/** How soon to look again at messages that others hold: their process may end. */
const HELD_CHECK_MS = 5000

/** A lane and how many more messages it may claim. */
type Room = readonly [lane: Lane, most: number]

/**
 * Delivers the outbox: at least once, with the row's id as idempotency key. Each round is one transaction, which
 * records the tries that have ended and claims the next messages. The tries themselves run between the rounds.
 */
export class Deliveries {
  /** The tries that run or wait to be recorded, by their claims. */
  readonly #running = new Map<string, { readonly lane: Lane['name']; readonly sharer: Sharer }>()
  readonly #slow = new SlowSharers()
  /** The turn of each lane that was looked at last. */
  readonly #turns = new Map<Lane['name'], string>()
  /** The tries that rounds began and that still run. */
  readonly #sending = new Set<Promise<void>>()
  /** Tries that callers began. */
  readonly #charging = new Set<Promise<unknown>>()
  /** Tries that have ended and are not recorded. */
  #finished: Outcome[] = []

  /** `wake`: called when a try has ended. */
  constructor(
    readonly handlers: DeliveryHandlers,
    readonly service: ServiceContext,
    readonly wake: () => void,
  ) {}

  /**
   * Records what has ended and begins what is due, as far as the lanes have room. Returns when the next message is due.
   * `wake` is called when there is more to do.
   */
  async round(): Promise<number | undefined> {
    const { storage, clock } = this.service
    if (await storage.read((tx) => isAnyAhead(tx, outbox, clock.now()))) await redate(outbox, this.service)
    for (;;) {
      if (this.#finished.length === 0) {
        const { isDue, next } = await storage.read((tx) => this.#look(tx))
        if (!isDue) return next
      }
      const begun = await this.#recordAndClaim((finished) => lanes.map((lane) => [lane, this.#roomIn(lane, finished)]))
      const tries = begun.map((message) => this.#begin(message))
      if (this.service.recorder && this.service.sandbox?.clock.mode === 'manual') await this.#promptly(tries)
    }
  }

  /** Waits until each try has reached its port, and then for those whose ports answer at once. */
  async #promptly(tries: readonly Try[]): Promise<void> {
    if (tries.length === 0) return
    await Promise.all(tries.map(({ ended, atPort }) => Promise.race([ended, atPort])))
    await waitAtMost(0, Promise.all(tries.map(({ ended }) => ended)), this.service)
  }

  /** Makes due what waits for a place of its owner's: a clock that is moved delivers everything in its order. */
  async endTurns(): Promise<void> {
    const { storage, clock } = this.service
    while (await storage.write((tx) => endTurns(tx, clock.now())));
  }

  /** When the first message is due that no try of this process holds. Undefined if there is none. */
  async nextDue(): Promise<number | undefined> {
    const { free } = await this.service.storage.read((tx) =>
      findDue(tx, inOrder, { ...this.#search(1), dueBy: Number.MAX_VALUE }, this.service),
    )
    return free[0]?.due_at ?? undefined
  }

  /**
   * Tries messages of all lanes that are due by a time, the earliest first, and records how that went. A try that takes
   * longer than `patienceMs` goes on alone.
   */
  async deliverInOrder(dueBy: number, patienceMs: number): Promise<void> {
    const begun = await this.#recordAndClaim(() => [[inOrder, inOrder.most]], dueBy)
    const sending = begun.map((message) => this.#begin(message).ended)
    await this.#settle(sending, patienceMs)
  }

  /** Waits for up to `patienceMs` for the tries that rounds began, and records those that have ended. */
  finish(patienceMs: number): Promise<void> {
    return this.#settle([...this.#sending], patienceMs)
  }

  async #settle(sending: readonly Promise<void>[], patienceMs: number): Promise<void> {
    await waitAtMost(patienceMs, Promise.all(sending), this.service)
    if (this.#finished.length > 0) await this.#recordAndClaim(() => [])
  }

  /**
   * Waits for all tries until `late` resolves, and records those that have ended. The others stay claimed, and the next
   * start resumes them.
   */
  async finishAll(late: Promise<void>): Promise<void> {
    await Promise.race([Promise.allSettled([...this.#sending, ...this.#charging]), late])
    if (this.#finished.length > 0) await this.#recordAndClaim(() => [])
  }

  /** Delivers a charge that the caller wrote and claimed. Returns its result, or undefined if that is not known yet. */
  charge(message: CardRow): Promise<ChargeResult | undefined> {
    const delivered = this.#charge(message)
    this.#charging.add(delivered)
    return this.#untilEnd(delivered.finally(() => this.#charging.delete(delivered)))
  }

  /** Resolves with undefined when a closing service waits no longer. */
  async #untilEnd<T>(coming: Promise<T>): Promise<T | undefined> {
    let forget = () => {}
    const end = new Promise<undefined>((resolve) => {
      forget = this.service.ending.onCallsEnd(() => resolve(undefined))
    })
    return Promise.race([coming, end]).finally(forget)
  }

  async #charge(message: CardRow): Promise<ChargeResult | undefined> {
    const { log } = this.service
    const outcome = await deliverBy(this.handlers.card, message, { service: this.service })
    const storage = this.#storageOf([outcome])
    try {
      await storage.write((tx) => outcome.record(tx))
      outcome.ended()
      return outcome.answered?.result
    } catch (cause) {
      log.error(notRecorded(message), cause)
      await storage.write((tx) => outcome.postpone(tx))
      outcome.ended()
      return undefined
    }
  }

  #begin(claimed: OutboxRow): Try {
    let onPort = () => {}
    const atPort = new Promise<void>((resolve) => (onPort = resolve))
    const { clock } = this.service
    const at = clock.now()
    const ended = deliverMessage(claimed, this.handlers, { service: this.service, onPort }).then((outcome) => {
      this.#slow.note(sharerOf(claimed), { ms: clock.now() - at, isLate: isLate(outcome) })
      this.#sending.delete(ended)
      this.#finished.push(outcome)
      this.wake()
    })
    this.#sending.add(ended)
    return { ended, atPort }
  }

  #search(most: number): DueSearch {
    return { most, running: new Set(this.#running.keys()) }
  }

  /** How many more messages a lane may claim once these tries are recorded. */
  #roomIn({ name, most }: Lane, finished: ReadonlySet<string>): number {
    let used = 0
    for (const [holder, { lane }] of this.#running) if (lane === name && !finished.has(holder)) used++
    return Math.max(most - used, 0)
  }

  /** Who has which places of a lane. A clock that is moved delivers one message after the other, whoever caused it. */
  #sharing(lane: Lane, finished: ReadonlySet<string>, areTurnsWaiting: boolean): Sharing | undefined {
    if (lane === inOrder) return undefined
    const running: Sharer[] = []
    for (const [holder, each] of this.#running)
      if (each.lane === lane.name && !finished.has(holder)) running.push(each.sharer)
    const shares = new Shares(lane.most, { running, isSlow: (sharer) => this.#slow.has(sharer) })
    return { shares, areTurnsWaiting, after: this.#turns.get(lane.name) ?? '' }
  }

  async #look(tx: Reader): Promise<{ isDue: boolean; next: number | undefined }> {
    let areAnyHeld = false
    const areTurnsWaiting = await findWhetherTurnsWait(tx)
    for (const lane of lanes) {
      if (this.#roomIn(lane, NONE) === 0) continue
      const { free, areHeld } = await findDue(tx, lane, this.#search(1), this.service)
      if (free.length > 0) return { isDue: true, next: undefined }
      const sharing = areTurnsWaiting ? this.#sharing(lane, NONE, true) : undefined
      if (sharing && (await findTurns(tx, lane.name, sharing)).turns.length > 0) return { isDue: true, next: undefined }
      areAnyHeld ||= areHeld
    }
    const at = this.service.clock.now()
    const after = [at, Number.MAX_VALUE]
    const [later] = await tx.find(outbox, { index: 'byDue', prefix: [], after, limit: 1 })
    const next = Math.min(
      later?.due_at ?? Number.POSITIVE_INFINITY,
      areAnyHeld ? at + HELD_CHECK_MS : Number.POSITIVE_INFINITY,
    )
    return { isDue: false, next: Number.isFinite(next) ? next : undefined }
  }

  /** One transaction. Returns the claimed messages. `dueBy`: the latest due time, by default now. */
  async #recordAndClaim(roomAfter: (finished: ReadonlySet<string>) => readonly Room[], dueBy?: number) {
    const { log } = this.service
    const outcomes = this.#finished.toSorted((a, b) => a.message.id - b.message.id)
    const storage = this.#storageOf(outcomes)
    const finished = new Set(outcomes.map(({ message }) => claimIn(message)))
    const room = roomAfter(finished)
    const written = storage.write(async (tx) => ({
      failures: await recordAll(tx, outcomes),
      ...(await this.#claimAll(tx, { room, finished, dueBy })),
    }))
    const { failures, begun, unreadable, turns } = await written.catch((cause: unknown) =>
      this.#recordSingly(outcomes, cause),
    )
    this.#forget(outcomes)
    for (const { message, cause } of failures) log.error(notRecorded(message), cause)
    for (const { kind, id } of unreadable) log.error(`${kind} ${id} is encrypted under another key and is not sent`)
    for (const [message, lane] of begun) {
      this.#running.set(claimIn(message), { lane, sharer: sharerOf(message) })
      this.service.ongoing.set(claimIn(message), undefined)
    }
    for (const [lane, turn] of turns) this.#turns.set(lane, turn)
    return begun.map(([message]) => message)
  }

  async #claimAll(tx: Writer, { room, finished, dueBy = this.service.clock.now() }: Claims): Promise<Begun> {
    const begun: [OutboxRow, Lane['name']][] = []
    const unreadable: OutboxRow[] = []
    const turns: [Lane['name'], string][] = []
    const { running } = this.#search(0)
    const areTurnsWaiting = room.some(([lane]) => lane !== inOrder) && (await findWhetherTurnsWait(tx))
    for (const [lane, most] of room) {
      if (most === 0) continue
      const sharing = this.#sharing(lane, finished, areTurnsWaiting)
      const found = await claimDue(tx, lane, { most, running, dueBy, sharing }, this.service)
      turns.push([lane.name, found.after])
      begun.push(...found.claimed.map((message): [OutboxRow, Lane['name']] => [message, lane.name]))
      unreadable.push(...found.unreadable)
    }
    return { begun, unreadable, turns }
  }

  /** Records each outcome in its own transaction, because together they failed. Throws if the storage refuses them all. */
  async #recordSingly(outcomes: readonly Outcome[], cause: unknown): Promise<Begun & { failures: Failure[] }> {
    if (outcomes.length === 0) throw cause
    const failures: Failure[] = []
    for (const outcome of outcomes) {
      try {
        failures.push(...(await this.#storageOf([outcome]).write((tx) => recordAll(tx, [outcome]))))
      } catch (alone) {
        await this.#storageOf([outcome]).write((tx) => outcome.postpone(tx))
        failures.push({ message: outcome.message, cause: alone })
      }
      this.#forget([outcome])
    }
    return { failures, begun: [], unreadable: [], turns: [] }
  }

  /** The storage, whose faults happen to these outcomes. */
  #storageOf(outcomes: readonly Outcome[]): ServiceStorage {
    return new ObservedStorage(this.service.storage, {
      noteFault: (faultId) => outcomes.forEach((outcome) => outcome.noteFault(faultId)),
    })
  }

  #forget(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) if (this.#finished.includes(outcome)) outcome.ended()
    this.#finished = this.#finished.filter((outcome) => !outcomes.includes(outcome))
    for (const { message } of outcomes) {
      this.#running.delete(claimIn(message))
      this.service.ongoing.delete(claimIn(message))
    }
  }
}

/** A try that has begun. Neither promise rejects. */
interface Try {
  readonly ended: Promise<void>
  /** Resolves when its message reaches its port. Never, if there is no journal. */
  readonly atPort: Promise<void>
}

/** What one transaction claimed, and what it found unreadable. */
interface Begun {
  readonly begun: readonly (readonly [message: OutboxRow, lane: Lane['name']])[]
  readonly unreadable: readonly OutboxRow[]
  /** The turn of each lane that was looked at last. */
  readonly turns: readonly (readonly [lane: Lane['name'], turn: string])[]
}

interface Claims {
  readonly room: readonly Room[]
  /** The claims of the tries that it records. */
  readonly finished: ReadonlySet<string>
  /** The latest due time. Default: now. */
  readonly dueBy?: number | undefined
}

/** Whether the receiver of a webhook let the time pass. */
const isLate = ({ message, answered }: Outcome): boolean =>
  message.kind === 'webhook' && isObject(answered?.result) && answered.result.error === 'timeout'

const claimIn = ({ id, claim }: OutboxRow): string => required(claim, `the claim of message ${id}`)
const NONE: ReadonlySet<string> = new Set()
type Failure = { readonly message: OutboxRow; readonly cause: unknown }

/** Records each outcome. One that fails is undone alone, and its answer is stored for a later try. */
async function recordAll(tx: Writer, outcomes: readonly Outcome[]): Promise<Failure[]> {
  const record = (part: Transaction, outcome: Outcome) => outcome.record(part)
  const parts = await runInParts(tx, outcomes, record, (_, outcome) => outcome.postpone(tx))
  return parts.flatMap(({ work: { message }, failure }) => (failure ? [{ message, ...failure }] : []))
}

const notRecorded = ({ kind, id }: OutboxRow): string =>
  `the outcome of ${kind} ${id} could not be recorded and is tried again`
