import type { OutboxRow } from '../../base/message.js'
import type { ServiceContext } from '../../http/context.js'
import { instanceIn, isHeld, newClaim } from '../../storage/claim.js'
import type { Key, Reader, Writer } from '../../storage/storage.js'
import { endMessage, outbox } from './outbox.js'
import {
  dueAgain,
  findTurns,
  isTurnWaiting,
  messagesOf,
  QueuePlaces,
  type Shares,
  setAside,
  sharerOf,
  turnOf,
} from './shares.js'

/**
 * Messages that leave in the order of their due times, a few at a time. A lane that is slow holds up no other one. Mails
 * that someone waits for have a lane of their own, and take a free place among the other mails too.
 */
export interface Lane {
  readonly name: 'awaited' | 'mail' | 'push' | 'card' | 'refund' | 'webhook' | 'all'
  /** How many may be on their way at once. */
  readonly most: number
  readonly index: 'byLaneAndDue' | 'byKindAndDue' | 'byDue'
  readonly prefix: readonly Key[]
}

/** In the order in which they claim messages. */
export const lanes: readonly Lane[] = [
  { name: 'awaited', most: 32, index: 'byLaneAndDue', prefix: ['awaited'] },
  { name: 'mail', most: 64, index: 'byKindAndDue', prefix: ['mail'] },
  { name: 'push', most: 64, index: 'byKindAndDue', prefix: ['push'] },
  { name: 'card', most: 16, index: 'byKindAndDue', prefix: ['card'] },
  { name: 'refund', most: 8, index: 'byKindAndDue', prefix: ['refund'] },
  // Each endpoint takes at most 20 of these places, and holds one for at most 15 seconds.
  { name: 'webhook', most: 512, index: 'byKindAndDue', prefix: ['webhook'] },
]

/** Every message in the order of its due time, for a clock that is moved. */
export const inOrder: Lane = { name: 'all', most: 32, index: 'byDue', prefix: [] }

/** A search for messages that nobody tries. */
export interface DueSearch {
  /** How many it may find. */
  readonly most: number
  /** The latest due time. Default: now. */
  readonly dueBy?: number
  /** The claims of the tries that this process began. `claimDue` adds those that it begins. */
  readonly running: Set<string>
}

/** How many rows a search reads beyond those that it may skip. */
const SPARE_ROWS = 16

/** Due messages, the earliest first. */
export interface DueMessages {
  readonly free: readonly OutboxRow[]
  /** Whether others hold any that are due. */
  readonly areHeld: boolean
}

/** Finds due messages of a lane that nobody tries. */
export async function findDue(
  tx: Reader,
  { index, prefix }: Pick<Lane, 'index' | 'prefix'>,
  { most, dueBy, running }: DueSearch,
  service: ServiceContext,
): Promise<DueMessages> {
  const latest = dueBy ?? service.clock.now()
  const free: OutboxRow[] = []
  const others = new Map<string, boolean>()
  let areHeld = false
  /** Asks once about each other process. */
  async function isFree({ claim }: OutboxRow): Promise<boolean> {
    if (!claim) return true
    const holder = instanceIn(claim)
    const held = others.get(holder) ?? (await isHeld(tx, claim, service))
    if (holder !== service.instance) others.set(holder, held)
    areHeld ||= held
    return !held
  }
  const limit = most + running.size + SPARE_ROWS
  let after: readonly Key[] | undefined
  for (;;) {
    const rows = await tx.find(outbox, { index, prefix, limit, ...(after && { after }) })
    for (const row of rows) {
      if (free.length === most || row.due_at === null || row.due_at > latest) return { free, areHeld }
      if (!running.has(row.claim ?? '') && (await isFree(row))) free.push(row)
    }
    const last = rows.at(-1)
    if (rows.length < limit || last?.due_at === undefined || last.due_at === null) return { free, areHeld }
    after = [...prefix, last.due_at, last.id]
  }
}

/** Messages that were claimed in a transaction, and those that will never be sent. */
export interface Claimed {
  readonly claimed: readonly OutboxRow[]
  readonly unreadable: readonly OutboxRow[]
  /** The turn that was looked at last. */
  readonly after: string
}

/** How the owners of messages share the places of a lane. */
export interface Sharing {
  readonly shares: Shares
  /** Whether messages wait for a place of their owner's. */
  readonly areTurnsWaiting: boolean
  /** The turn that was looked at last. */
  readonly after: string
}

/** How many due messages one search finds after the first, and how many searches there are. */
const BATCH = 64
const MOST_BATCHES = 8

/**
 * Claims due messages: those that wait for a place of their owner's, one of each owner in turn, then the others, the
 * earliest first. It counts each try before it begins. Useless and unreadable messages end here. A message whose queue is
 * full, or whose owner may take no more places, is set aside.
 */
export async function claimDue(
  tx: Writer,
  lane: Lane,
  { sharing, ...search }: DueSearch & { readonly sharing?: Sharing | undefined },
  service: ServiceContext,
): Promise<Claimed> {
  const claiming = new Claiming(tx, { lane, sharing, ...search }, service)
  const after = await claiming.callTurns()
  for (let n = 0, most = claiming.room; n < MOST_BATCHES && most > 0; n++) {
    const { free } = await findDue(tx, lane, { ...search, most }, service)
    const isAside = await claiming.take(free)
    // Only what is set aside leaves room for more.
    if (!isAside || free.length < most || claiming.room === 0) break
    most = Math.max(claiming.room, BATCH)
  }
  return { claimed: claiming.claimed, unreadable: claiming.unreadable, after }
}

class Claiming {
  readonly claimed: OutboxRow[] = []
  readonly unreadable: OutboxRow[] = []
  readonly #places: QueuePlaces
  /** Whether messages of these turns wait. */
  readonly #waiting = new Map<string, boolean>()

  constructor(
    readonly tx: Writer,
    readonly search: DueSearch & { readonly lane: Lane; readonly sharing: Sharing | undefined },
    readonly service: ServiceContext,
  ) {
    this.#places = new QueuePlaces(tx)
  }

  /** How many more messages it may claim. */
  get room(): number {
    return this.search.most - this.claimed.length
  }

  /** Claims messages that wait for a place of their owner's, one of each owner in turn. Returns the last turn. */
  async callTurns(): Promise<string> {
    const { lane, sharing } = this.search
    if (!sharing?.areTurnsWaiting) return sharing?.after ?? ''
    const { shares } = sharing
    const { turns, last } = await findTurns(this.tx, lane.name, sharing)
    let open = []
    for (const { turn, sharer } of turns)
      open.push({ sharer, messages: (await messagesOf(this.tx, turn, this.room)).values() })
    while (open.length > 0) {
      const left = []
      for (const each of open) {
        if (this.room === 0 || !shares.mayTake(each.sharer)) continue
        const { value: message } = each.messages.next()
        if (!message) continue
        await this.#offer(dueAgain(message, this.service.clock.now()))
        left.push(each)
      }
      open = left
    }
    return last
  }

  /** Claims due messages, as far as there is room. Returns whether it set any aside. */
  async take(due: readonly OutboxRow[]): Promise<boolean> {
    let isAside = false
    for (const message of due) {
      if (this.room === 0) break
      const turn = await this.#turnOf(message)
      if (turn === undefined) isAside = !(await this.#offer(message)) || isAside
      else {
        this.tx.put(outbox, setAside(message, turn))
        this.#waiting.set(turn, true)
        isAside = true
      }
    }
    return isAside
  }

  /** The turn that a message has to wait for. None overtakes those of its owner and host that wait already. */
  async #turnOf(message: OutboxRow): Promise<string | undefined> {
    // One that is taken over keeps its places.
    const { lane, sharing } = this.search
    if (!sharing || message.claim) return undefined
    const sharer = sharerOf(message)
    const turn = turnOf(lane.name, sharer)
    if (!sharing.shares.mayTake(sharer)) return turn
    if (sharing.areTurnsWaiting && !this.#waiting.has(turn))
      this.#waiting.set(turn, await isTurnWaiting(this.tx, lane.name, sharer))
    return this.#waiting.get(turn) ? turn : undefined
  }

  /** Claims a message, or ends it, or sets it aside if its queue is full. Returns false if it is set aside. */
  async #offer(message: OutboxRow): Promise<boolean> {
    const { clock, sandbox } = this.service
    const at = clock.now()
    if (isLost(message)) this.unreadable.push(message)
    if (isLost(message) || (message.stale_at !== null && message.stale_at <= at)) {
      if (sandbox) this.tx.put(outbox, endMessage(message, 'failed'))
      else this.tx.remove(outbox, message.id)
      return true
    }
    const { queue } = message
    if (queue !== undefined && !(await this.#places.take(message))) {
      this.tx.put(outbox, setAside(message, queue))
      return false
    }
    const claim = newClaim(this.service)
    this.search.running.add(claim)
    const place = queue !== undefined && { slot_of: queue }
    const mine = { ...message, attempts: message.attempts + 1, claim, ...place }
    this.tx.put(outbox, mine)
    this.search.sharing?.shares.take(sharerOf(message))
    this.claimed.push(mine)
    return true
  }
}

/** The encrypted text of a charge is only for people: what it charges is not encrypted. */
const isLost = ({ is_unreadable, kind }: OutboxRow): boolean =>
  is_unreadable === true && (kind === 'mail' || kind === 'push')
