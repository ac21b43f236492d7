import type { OutboxRow } from '../../base/message.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { outbox } from './outbox.js'

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
