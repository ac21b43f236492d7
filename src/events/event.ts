import type { Owner } from '../owner.js'
import { problem } from '../problem.js'
import { newestFirst } from '../storage/page.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'
import { seconds } from '../time.js'

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
  /** Each gets a row of their own; whoever is named twice, one. */
  readonly owners: readonly Owner[]
  readonly at: number
}

/** Writes an event in the transaction of what it tells. */
export async function recordEvent(tx: Writer, { owners, at, ...event }: NewEvent): Promise<void> {
  for (const owner of new Set(owners)) await putEvent(tx, { owner, ...event, created_at: at })
}

async function putEvent(tx: Writer, event: Omit<EventRow, 'id'>): Promise<EventRow> {
  const row = { id: await tx.nextId('events'), ...event }
  tx.put(events, row)
  return row
}

export const showEvent = ({ id, type, actor, subject, data, created_at }: EventRow) => ({
  id,
  type,
  actor,
  subject,
  data,
  created_at: seconds(created_at),
})

export interface EventQuery {
  /** One type, such as `payment.created`. */
  readonly type?: string | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
}

/** A page of an owner's events, newest first. Throws `cursor_invalid`. */
export async function listEvents(tx: Reader, owner: Owner, { type, limit, after }: EventQuery) {
  const [index, prefix] = type === undefined ? (['byOwner', [owner]] as const) : (['byType', [owner, type]] as const)
  const { rows, next } = await newestFirst(tx, events, { index, prefix: [...prefix], limit, after })
  return { events: rows.map(showEvent), next: next as number | null }
}

/** One of the owner's events. Throws `not_found`, for another's too. */
export async function readEvent(tx: Reader, owner: Owner, id: number) {
  const event = await tx.get(events, id)
  if (event?.owner !== owner) throw problem('not_found')
  return showEvent(event)
}

const DATA_BYTES = 8192

/** Writes what a client itself has to tell. Throws `field_invalid`: the type begins with `client.`, and the data is at most 8 KiB of JSON. */
export async function createEvent(
  tx: Writer,
  owner: Owner,
  { type, data, at }: { type: string; data: Record<string, unknown>; at: number },
) {
  if (new TextEncoder().encode(JSON.stringify(data)).length > DATA_BYTES)
    throw problem('field_invalid', {
      detail: `"data" takes at most ${DATA_BYTES} bytes as JSON.`,
      fields: { field: 'data' },
    })
  return showEvent(await putEvent(tx, { owner, type, actor: owner, subject: null, data, created_at: at }))
}
