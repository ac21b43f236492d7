import type { OutboxRow } from '../../base/message.js'
import type { ServiceContext } from '../../http/context.js'
import { instanceIn, isHeld } from '../../storage/claim.js'
import type { Key, Reader } from '../../storage/storage.js'
import { outbox } from './outbox.js'

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
