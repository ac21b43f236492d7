import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import { countedDaily } from '../../storage/growth.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type EventType, matchesPattern } from './event-types.js'

/** Also an email address that nobody has proven, by its digest: the events of mails to it wait for whoever proves it. */
export type EventOwner = Owner | `address:${string}`

/** A fact that its owners can read and follow later. */
export interface EventRow {
  readonly id: number
  /** Whose events it is listed among. */
  readonly owner: EventOwner
  /** The second owner, who sees it too. Null if it has only one. */
  readonly other: Owner | null
  /** `sign_in`, `payment.created`, `client.…` and so on. */
  readonly type: string
  /** Who did it: an owner, a client id, or `service`. */
  readonly actor: string
  /** The thing that it is about, such as `payment:12`. */
  readonly subject: string | null
  /** No secrets. */
  readonly data: Readonly<Record<string, unknown>>
  readonly created_at: number
}

export const events = collection<EventRow>()(
  'events',
  {
    byOwner: { fields: ['owner'] },
    byOther: { fields: ['other'] },
    byOwnerType: { fields: ['owner', 'type'] },
    byOtherType: { fields: ['other', 'type'] },
  },
  {
    refs: { actor: null, subject: null, data: null },
    growth: countedDaily('an account or user, by createEvent; the service, for each change of theirs'),
    retention: {
      after: 'it happened',
      keepMs: 'eventDays',
      index: 'id',
      endsOf: async (_tx, rows) => rows.map(({ created_at }) => created_at),
      keepsNewest: true,
    },
  },
)

export interface NewEvent extends Omit<EventRow, 'id' | 'owner' | 'other' | 'type' | 'created_at'> {
  readonly type: EventType
  /** The owner, or both sides. */
  readonly owners: readonly [EventOwner, Owner?]
  readonly at: number
  /** A number of the counter `events` that was already drawn. Default: draws one. */
  readonly id?: number | undefined
}

/** Writes an event, in the transaction of the change that it reports. */
export const recordEvent = (tx: Writer, event: NewEvent): Promise<unknown> => putEvent(tx, event)

type AnyEvent = Omit<NewEvent, 'type'> & Pick<EventRow, 'type'>

/** `recordEvent` that resolves with the row, for events of any type. */
export const putEvent = (tx: Writer, event: AnyEvent): Promise<EventRow> =>
  event.id === undefined
    ? tx.nextId('events').then((id) => writeEvent(tx, id, event))
    : Promise.resolve(writeEvent(tx, event.id, event))

function writeEvent(tx: Writer, id: number, { owners, type, actor, subject, data, at }: AnyEvent): EventRow {
  const [owner, second] = owners
  const other = second === undefined || second === owner ? null : second
  const row: EventRow = { id, owner, other, type, actor, subject, data, created_at: at }
  tx.put(events, row)
  return row
}

export const showEvent = ({ id, type, actor, subject, data, created_at }: EventRow) => ({
  ...{ id, type, actor, subject, data, created_at: seconds(created_at) },
})

export interface EventQuery {
  /** A type such as `payment.created`, a group such as `payment.*`, or `*`. */
  readonly type?: string | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
}

/** A page of an owner's events, newest first. After an event that the sweep removed there are none. Throws `cursor_invalid`. */
export async function listEvents(tx: Reader, owner: Owner, { type, limit = 20, after }: EventQuery) {
  if (after !== undefined && !(await ownEvent(tx, owner, after))) {
    if (after > 0 && after <= (await sweptUntil(tx))) return { events: [], next: null }
    throw problem('cursor_invalid')
  }
  const { rows, last, isMore } = await findMatching(tx, { owner, type, past: after, limit: limit + 1, reverse: true })
  const shown = rows.slice(0, limit)
  // What was read without a match is not read again.
  const next = rows.length > limit ? shown.at(-1)?.id : isMore ? last : undefined
  return { events: shown.map(showEvent), next: next ?? null }
}

/** The highest id up to which the sweep has removed events. It removes the events of all owners in the order of their ids. */
export async function sweptUntil(tx: Reader): Promise<number> {
  const [oldest] = await tx.find(events, { index: 'id', prefix: [], limit: 1 })
  return oldest ? oldest.id - 1 : 0
}

/** The id of the newest event of anybody if it is lower than this one, which then is an event of another state. */
export async function newestBelow(tx: Reader, id: number): Promise<number | undefined> {
  const [newest] = await tx.find(events, { index: 'id', prefix: [], limit: 1, reverse: true })
  const last = newest?.id ?? 0
  return last < id ? last : undefined
}

export interface EventSearch {
  readonly owner: EventOwner
  readonly type: string | undefined
  /** An id. */
  readonly past: number | undefined
  readonly limit: number
  readonly reverse?: boolean
}

/** Events that concern an owner, on either side, in the order of their ids. */
export async function findEvents(tx: Reader, { owner, type, past, limit, reverse = false }: EventSearch) {
  const prefix = type === undefined ? [owner] : [owner, type]
  const query = { prefix, limit, reverse, ...(past !== undefined && { after: [...prefix, past] }) }
  const [own, others] =
    type === undefined ? (['byOwner', 'byOther'] as const) : (['byOwnerType', 'byOtherType'] as const)
  const rows = await tx.find(events, { index: own, ...query })
  rows.push(...(await tx.find(events, { index: others, ...query })))
  return rows.sort((a, b) => (reverse ? b.id - a.id : a.id - b.id)).slice(0, limit)
}

/** How many events of an owner one read of a group takes, and how many reads there are in a transaction. */
const SCANNED = 1000
const MOST_SCANS = 2

/**
 * `findEvents` that also takes a group of types, such as `payment.*`. No index has groups, so it reads the owner's events
 * until it has found enough, or has read 2,000. `last` is the id of the last event that it has read, matching or not, and
 * `isMore` says whether others may match behind it.
 */
export async function findMatching(tx: Reader, search: EventSearch): Promise<MatchingEvents> {
  const { type, limit } = search
  if (!type?.endsWith('*')) {
    const rows = await findEvents(tx, search)
    return { rows, ...lastOf(rows), isMore: rows.length === limit }
  }
  const found: EventRow[] = []
  let { past } = search
  for (let scans = 1; ; scans++) {
    const read = await findEvents(tx, { ...search, type: undefined, past, limit: SCANNED })
    const rows = read.filter((row) => matchesPattern([type], row.type)).slice(0, limit - found.length)
    found.push(...rows)
    if (found.length === limit) return { rows: found, ...lastOf(found), isMore: true }
    past = read.at(-1)?.id ?? past
    const isMore = read.length === SCANNED
    if (!isMore || scans === MOST_SCANS) return { rows: found, ...(past !== undefined && { last: past }), isMore }
  }
}

/** Events that match, and how far they were looked for. */
type MatchingEvents = { readonly rows: EventRow[]; readonly last?: number; readonly isMore: boolean }

const lastOf = (rows: readonly EventRow[]) => {
  const last = rows.at(-1)?.id
  return last === undefined ? {} : { last }
}

async function ownEvent(tx: Reader, owner: Owner, id: number): Promise<EventRow | undefined> {
  const event = await tx.get(events, id)
  return event?.owner === owner || event?.other === owner ? event : undefined
}

/** Reads one of the owner's events. Throws `not_found`, even if the event belongs to another user. */
export async function readEvent(tx: Reader, owner: Owner, id: number) {
  const event = await ownEvent(tx, owner, id)
  if (!event) throw problem('not_found')
  return showEvent(event)
}

const DATA_BYTES = 8192

/**
 * Writes a client's own event. The route checks that its type begins with `client.`. Throws `field_invalid` if the
 * data is more than 8 KiB of JSON.
 */
export async function createEvent(
  tx: Writer,
  owner: Owner,
  { type, data, at }: { type: string; data: Record<string, unknown>; at: number },
) {
  if (new TextEncoder().encode(JSON.stringify(data)).length > DATA_BYTES)
    throw problem('field_invalid', {
      detail: `"data" must be at most ${DATA_BYTES} bytes of JSON.`,
      fields: { field: 'data' },
    })
  return showEvent(await putEvent(tx, { owners: [owner], type, actor: owner, subject: null, data, at }))
}
