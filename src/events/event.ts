import type { Owner } from '../owner.js'
import { collection, type Writer } from '../storage/storage.js'

/** What happened, as one of those whom it concerns sees it. */
export interface EventRow {
  readonly id: number
  /** Whose log it stands in. */
  readonly owner: Owner
  /** `sign_in`, `payment.created`, `client.…` and so on. */
  readonly type: string
  /** Who did it: an owner, a client id, or `service`. */
  readonly actor: string
  /** What it was done to: `payment:12`. */
  readonly subject: string | null
  /** No secrets. */
  readonly data: Readonly<Record<string, unknown>>
  readonly created_at: number
}

export const events = collection<EventRow>()('events', {
  byOwner: { fields: ['owner'] },
  byType: { fields: ['owner', 'type'] },
})

export interface NewEvent extends Omit<EventRow, 'id' | 'owner' | 'created_at'> {
  /** Each gets a row of their own. */
  readonly owners: readonly Owner[]
  readonly at: number
}

/** Writes an event in the transaction of what it tells. */
export async function recordEvent(tx: Writer, { owners, at, ...event }: NewEvent): Promise<void> {
  for (const owner of owners) tx.put(events, { id: await tx.nextId('events'), owner, ...event, created_at: at })
}
