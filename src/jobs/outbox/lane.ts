import type { DeliveryClaim, OutboxRow } from '../../base/message.js'
import type { ServiceContext } from '../../http/context.js'
import type { Key, Reader, Writer } from '../../storage/storage.js'
import { isHeld, LONGEST_LEASE_MS } from '../leases/lease.js'
import { claimOf } from './claim.js'
import { deadlineOf } from './delivery.js'
import { endMessage, outbox } from './outbox.js'
import { QueuePlaces, setAside } from './queue.js'

/**
 * Messages that leave in the order of their due times, a few at a time. A lane that is slow holds up no other one. Mails
 * that somebody waits for have a lane of their own, and take a free place among the other mails too.
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
  /** The holders of the tries that run in this process. */
  readonly running: ReadonlySet<string>
  /** The instance names of services that have ended. */
  readonly ended: ReadonlySet<string>
}

/** How many rows a search reads beyond those that it may skip. */
const SPARE_ROWS = 16

/** Due messages, the earliest first. */
export interface DueMessages {
  readonly free: readonly OutboxRow[]
  /** The claims of due messages that may be tried elsewhere. */
  readonly held: readonly DeliveryClaim[]
}

/** Finds due messages of a lane that nobody tries. */
export async function findDue(
  tx: Reader,
  { index, prefix }: Pick<Lane, 'index' | 'prefix'>,
  { most, dueBy, running, ended }: DueSearch,
  service: Pick<ServiceContext, 'clock' | 'storage' | 'instance'>,
): Promise<DueMessages> {
  const at = service.clock.now()
  const latest = dueBy ?? at
  const free: OutboxRow[] = []
  const held: DeliveryClaim[] = []
  const limit = most + running.size + SPARE_ROWS
  let after: readonly Key[] | undefined
  for (;;) {
    const rows = await tx.find(outbox, { index, prefix, limit, ...(after && { after }) })
    for (const row of rows) {
      if (free.length === most || row.due_at === null || row.due_at > latest) return { free, held }
      const { claim } = row
      if (claim && running.has(claim.holder)) continue
      if (claim && isHeld(claim, { at, ended }, service)) held.push(claim)
      else free.push(row)
    }
    const last = rows.at(-1)
    if (rows.length < limit || last?.due_at === undefined || last.due_at === null) return { free, held }
    after = [...prefix, last.due_at, last.id]
  }
}

/** Messages that were claimed in a transaction, and those that will never be sent. */
export interface Claimed {
  readonly claimed: readonly OutboxRow[]
  readonly unreadable: readonly OutboxRow[]
}

/**
 * Claims due messages, the earliest first. It counts each try before it begins. Useless and unreadable messages end here.
 * A message whose queue is full is set aside.
 */
export async function claimDue(
  tx: Writer,
  lane: Pick<Lane, 'index' | 'prefix'>,
  search: DueSearch,
  service: ServiceContext,
): Promise<Claimed> {
  const { clock, limits, sandbox } = service
  const at = clock.now()
  const until = at + Math.min(2 * deadlineOf(limits), LONGEST_LEASE_MS)
  const { free } = await findDue(tx, lane, search, service)
  const places = new QueuePlaces(tx)
  const claimed: OutboxRow[] = []
  const unreadable: OutboxRow[] = []
  for (const message of free) {
    if (isLost(message)) unreadable.push(message)
    if (isLost(message) || (message.stale_at !== null && message.stale_at <= at)) {
      if (sandbox) tx.put(outbox, endMessage(message, 'failed'))
      else tx.remove(outbox, message.id)
      continue
    }
    if (!(await places.take(message))) {
      tx.put(outbox, setAside(message))
      continue
    }
    const mine = { ...message, attempts: message.attempts + 1, claim: claimOf(service, until), ...takenIn(message) }
    tx.put(outbox, mine)
    claimed.push(mine)
  }
  return { claimed, unreadable }
}

const takenIn = ({ queue }: OutboxRow) => (queue === undefined ? {} : { taken_in: queue })

/** The encrypted text of a charge is only for people: what it charges is not encrypted. */
const isLost = ({ is_unreadable, kind }: OutboxRow): boolean =>
  is_unreadable === true && (kind === 'mail' || kind === 'push')
