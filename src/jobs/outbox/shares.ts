import { LimitedMap } from '../../base/memo.js'
import type { OutboxRow } from '../../base/message.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { outbox } from './outbox.js'

/** Whose places a message takes, and at which host. */
export type Sharer = { readonly owner: string; readonly host: string }

/** Whose places a message takes: those of the owner who caused it, or of its address if it names none. */
export const sharerOf = ({ owner, to }: Pick<OutboxRow, 'owner' | 'to'>): Sharer => ({
  owner: owner ?? to,
  host: parsedUrl(to)?.host ?? to.slice(to.lastIndexOf('@') + 1),
})

export const nameOf = ({ owner, host }: Sharer): string => `${owner} ${host}`

/**
 * The places of one lane, of which each owner takes a share. One message of an owner may begin while any place is free.
 * For its others only half of the places counts, and the owner may take one more while it has fewer than are free of
 * those. So others begin at once, however many one owner would take. A host of an owner leaves as many to the owner's
 * other hosts, and a host as many to other hosts. For those who were slow, it is half for the first message, and a
 * quarter for others.
 */
export class Shares {
  readonly #taken = new Map<string, number>()
  #all = 0

  constructor(
    readonly most: number,
    readonly sharers: { readonly running: Iterable<Sharer>; readonly isSlow: (sharer: Sharer) => boolean },
  ) {
    for (const sharer of sharers.running) this.take(sharer)
  }

  mayTake(sharer: Sharer): boolean {
    const own = this.of(sharer)
    const counted = (own === 0 ? 1 : 1 / 2) - (this.sharers.isSlow(sharer) ? (own === 0 ? 1 / 2 : 1 / 4) : 0)
    const free = Math.floor(this.most * counted) - this.#all
    if (own === 0) return free >= 1
    return own < free && this.#at(`there ${nameOf(sharer)}`) < free - own && this.#at(`host ${sharer.host}`) < free
  }

  take(sharer: Sharer): void {
    this.#all++
    for (const key of [`owner ${sharer.owner}`, `there ${nameOf(sharer)}`, `host ${sharer.host}`])
      this.#taken.set(key, this.#at(key) + 1)
  }

  /** How many places its owner has. */
  of({ owner }: Sharer): number {
    return this.#at(`owner ${owner}`)
  }

  #at(key: string): number {
    return this.#taken.get(key) ?? 0
  }
}

/** How long a try may take before its owner counts as slow at that host, in ms. */
const SLOW_MS = 5000
const MOST_SLOW = 10_000

/** Who was slow when it was tried last. */
export class SlowSharers {
  readonly #slow = new LimitedMap<string, true>(MOST_SLOW)

  has(sharer: Sharer): boolean {
    return this.#slow.has(nameOf(sharer))
  }

  /** A try ended. `isLate`: nobody answered in time. */
  note(sharer: Sharer, { ms, isLate }: { readonly ms: number; readonly isLate: boolean }): void {
    const name = nameOf(sharer)
    this.#slow.delete(name)
    if (isLate || ms >= SLOW_MS) this.#slow.set(name, true)
  }
}

/** How many messages of one queue may be on their way at once, over all processes. */
export const QUEUE_PLACES = 20

/** Counts the free places of queues, for the claims of one transaction. */
export class QueuePlaces {
  readonly #taken = new Map<string, number>()

  constructor(readonly tx: Reader) {}

  /** Takes a place for a message. Returns false if its queue has none. A message that is taken over keeps its place. */
  async take({ queue, slot_of }: OutboxRow): Promise<boolean> {
    if (queue === undefined || slot_of === queue) return true
    const taken = this.#taken.get(queue) ?? (await this.#count(queue))
    this.#taken.set(queue, Math.min(taken + 1, QUEUE_PLACES))
    return taken < QUEUE_PLACES
  }

  async #count(queue: string): Promise<number> {
    return (await this.tx.find(outbox, { index: 'byTaken', prefix: [queue], limit: QUEUE_PLACES })).length
  }
}

/** A message that waits until a place is free. Until then no search for due messages reads it. */
export const setAside = <M extends OutboxRow>(message: M, queued_in: string) => ({
  ...message,
  due_at: null,
  due_set_at: null,
  queued_in,
  ...(message.due_at !== null && { waits_since: message.due_at }),
})

/** A message that was set aside and is due again. */
export function dueAgain({ queued_in: _, waits_since, ...message }: OutboxRow, at: number): OutboxRow {
  return { ...message, due_at: Math.min(waits_since ?? at, at), due_set_at: at }
}

/** Frees the place of a message whose try has ended. The message of its queue that waits longest is due again. */
export async function freePlace(tx: Writer, { slot_of, ...message }: OutboxRow, at: number): Promise<OutboxRow> {
  if (slot_of !== undefined) await callNext(tx, slot_of, at)
  return message
}

async function callNext(tx: Writer, queue: string, at: number): Promise<void> {
  const [next] = await tx.find(outbox, { index: 'byWaiting', prefix: [queue], limit: 1 })
  if (next) tx.put(outbox, dueAgain(next, at))
}

const MOST_LOOKED_AT = 16
const ALL = 'turn:'
const prefixOf = (lane: string): string => `${ALL}${lane} `

/** The queue in which messages of a lane wait until their owner may take another place. */
export const turnOf = (lane: string, sharer: Sharer): string => `${prefixOf(lane)}${nameOf(sharer)}`

/** Whether any message waits for a place of its owner's. */
export const findWhetherTurnsWait = async (tx: Reader): Promise<boolean> =>
  (await firstAfter(tx, ALL, ALL)) !== undefined

/** Whether messages of this owner and host wait for a place. */
export const isTurnWaiting = async (tx: Reader, lane: string, sharer: Sharer): Promise<boolean> =>
  (await tx.find(outbox, { index: 'byWaiting', prefix: [turnOf(lane, sharer)], limit: 1 })).length > 0

/** An owner and host for whom messages wait. */
export type WaitingTurn = { readonly turn: string; readonly sharer: Sharer }

/**
 * Those for whom messages of a lane wait and who may take a place: who has the fewest first. Begins after the turn
 * `after`, so that in the end all are looked at. Returns also the turn that was looked at last.
 */
export async function findTurns(
  tx: Reader,
  lane: string,
  { shares, after }: { readonly shares: Shares; readonly after: string },
): Promise<{ readonly turns: readonly WaitingTurn[]; readonly last: string }> {
  const found = new Map<string, Sharer>()
  const prefix = prefixOf(lane)
  let last = after.startsWith(prefix) ? after : prefix
  for (let looked = 0; looked < MOST_LOOKED_AT; looked++) {
    const row = (await firstAfter(tx, prefix, last)) ?? (await firstAfter(tx, prefix, prefix))
    const turn = row?.queued_in
    if (!row || turn === undefined || found.has(turn)) break
    found.set(turn, sharerOf(row))
    last = turn
  }
  const turns = [...found].map(([turn, sharer]) => ({ turn, sharer })).filter(({ sharer }) => shares.mayTake(sharer))
  return { turns: turns.sort((a, b) => shares.of(a.sharer) - shares.of(b.sharer)), last }
}

/** The message that waits longest in the first turn after this one. */
async function firstAfter(tx: Reader, prefix: string, turn: string): Promise<OutboxRow | undefined> {
  const after = [turn, Number.MAX_VALUE, 0]
  const [row] = await tx.find(outbox, { index: 'byWaiting', prefix: [], after, limit: 1 })
  return row?.queued_in?.startsWith(prefix) ? row : undefined
}

const CALLED_AT_ONCE = 200

/** Makes messages due again that wait for a place of their owner's, as they were before. Returns whether there may be more. */
export async function endTurns(tx: Writer, at: number): Promise<boolean> {
  const query = { index: 'byWaiting', prefix: [], after: [ALL, Number.MAX_VALUE, 0], limit: CALLED_AT_ONCE } as const
  const waiting = (await tx.find(outbox, query)).filter(({ queued_in }) => queued_in?.startsWith(ALL))
  for (const message of waiting) tx.put(outbox, dueAgain(message, at))
  return waiting.length === CALLED_AT_ONCE
}

/** The messages of a turn that wait longest. */
export const messagesOf = (tx: Reader, turn: string, limit: number): Promise<OutboxRow[]> =>
  tx.find(outbox, { index: 'byWaiting', prefix: [turn], limit })
