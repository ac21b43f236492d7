import { contentHash } from '../../base/hash.js'
import { type DelegateRow, delegates } from '../../consent/personas/delegate.js'
import { personaOf } from '../../consent/personas/persona.js'
import type { ServiceContext } from '../../http/context.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type EntryRow, entries, type MovementRow, movements } from '../../money/ledger/movement.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader } from '../../storage/storage.js'

/** A record of value received or sent, or of a delegate received (interface.md section 2). */
export interface BinderRecord {
  readonly timestamp: string
  readonly fileAction: 'receive' | 'send'
  /** The hash of the delegate, or of the movement: the same in the payer's binder and the payee's. */
  readonly fileIdentity: string
  /** The digital quantity; empty for a delegate. */
  readonly fileType: string
  /** Null for a delegate. */
  readonly amount: number | null
  /** Hostname of the payer, or of the persona, on a `receive`, else empty. */
  readonly fromAddress: string
  /** Hostname of the payee on a `send`, else empty. */
  readonly destinationAddress: string
}

export const binderColumns = [
  'timestamp',
  'fileAction',
  'fileIdentity',
  'fileType',
  'amount',
  'fromAddress',
  'destinationAddress',
] as const satisfies readonly (keyof BinderRecord)[]

/** A record and what only its JSON form shows. */
export interface BinderEntry {
  readonly record: BinderRecord
  readonly twistId: string
  readonly author: string
  /** The kind of movement, or `delegate`. */
  readonly type: string
}

/** Unix milliseconds, both included. */
export interface Span {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

const BATCH_SIZE = 200

/** What stands in a binder: with one key, when it came. */
type BinderItem = { readonly at: number } & ({ readonly entry: EntryRow } | { readonly delegate: DelegateRow })

/** A twin's entries and delegates, newest first, fetched in pieces so that a binder of any length is streamed. */
export async function* binderEntries(
  { storage }: Pick<ServiceContext, 'storage'>,
  twin: TwinRow,
  { from = Number.NEGATIVE_INFINITY, to }: Span,
): AsyncGenerator<BinderEntry[]> {
  let cursor: Cursor = to === undefined ? {} : { entry: [twin.id, to + 1, 0], delegate: [twin.id, to + 1, 0, ''] }
  for (;;) {
    const { items, described } = await storage.read(async (tx) => {
      const items = await itemsAfter(tx, twin, cursor)
      const within = items.filter(({ at }) => at >= from)
      return { items, described: await describe(tx, twin, within) }
    })
    if (described.length > 0) yield described
    if (items.length < BATCH_SIZE || described.length < items.length) return
    cursor = cursorAfter(cursor, items)
  }
}

/** Whole keys of the last entry and the last delegate that were given. */
interface Cursor {
  readonly entry?: readonly [twin: number, at: number, id: number]
  readonly delegate?: readonly [twin: number, at: number, number: number, hash: string]
}

async function itemsAfter(tx: Reader, { id }: TwinRow, past: Cursor): Promise<BinderItem[]> {
  const query = { index: 'byTwin', prefix: [id], limit: BATCH_SIZE, reverse: true } as const
  const moved = await tx.find(entries, { ...query, ...(past.entry && { after: past.entry }) })
  const received = await tx.find(delegates, { ...query, ...(past.delegate && { after: past.delegate }) })
  const items: BinderItem[] = moved.map((entry) => ({ at: entry.at, entry }))
  if (received.length === 0) return items
  items.push(...received.map((delegate) => ({ at: delegate.created_at, delegate })))
  // Sorting is stable: each kind stays in its order, so what is cut off here comes next.
  return items.sort((a, b) => b.at - a.at).slice(0, BATCH_SIZE)
}

function cursorAfter(past: Cursor, items: readonly BinderItem[]): Cursor {
  let { entry, delegate } = past
  for (const item of items)
    if ('entry' in item) entry = [item.entry.twin_id, item.at, item.entry.id]
    else delegate = [item.delegate.twin_id, item.at, item.delegate.number, item.delegate.id]
  return { ...(entry && { entry }), ...(delegate && { delegate }) }
}

async function describe(tx: Reader, twin: TwinRow, items: readonly BinderItem[]): Promise<BinderEntry[]> {
  const hostnameOf = cached(async (id: number) => (await tx.get(twins, id))?.hostname ?? '')
  const decimalsOf = cached(async (dq: string) => (await quantityOf(tx, dq)).decimals)
  const anchorOf = cached(async (persona: string) => (await personaOf(tx, persona)).hostname)
  const described = []
  for (const item of items) {
    if ('delegate' in item) {
      described.push(describeDelegate(item.delegate, await anchorOf(item.delegate.persona)))
      continue
    }
    const { entry } = item
    const movement = await getExisting(tx, movements, entry.movement_id)
    const counterpart = await hostnameOf(entry.counterpart_twin_id)
    const amount = toAmount(movement.amount, await decimalsOf(entry.dq))
    described.push(describeEntry(entry, movement, { twin, counterpart, amount }))
  }
  return described
}

function describeEntry(
  entry: EntryRow,
  movement: MovementRow,
  { twin, counterpart, amount }: { twin: TwinRow; counterpart: string; amount: number },
): BinderEntry {
  const received = movement.payee_twin_id === twin.id
  const record: BinderRecord = {
    timestamp: new Date(entry.at).toISOString(),
    fileAction: received ? 'receive' : 'send',
    fileIdentity: movementHash(movement),
    fileType: entry.dq,
    amount,
    fromAddress: received ? counterpart : '',
    destinationAddress: received ? '' : counterpart,
  }
  const twistId = contentHash({ entry: entry.id, movement: record.fileIdentity, at: entry.at })
  return { record, twistId, author: received ? counterpart : twin.hostname, type: movement.kind }
}

function describeDelegate({ id, created_at: at }: DelegateRow, persona: string): BinderEntry {
  const record: BinderRecord = {
    timestamp: new Date(at).toISOString(),
    fileAction: 'receive',
    fileIdentity: id,
    fileType: '',
    amount: null,
    fromAddress: persona,
    destinationAddress: '',
  }
  return { record, twistId: contentHash({ delegate: id, at }), author: persona, type: 'delegate' }
}

/** Many rows name the same few things: each is looked up once. */
function cached<K, V>(look: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const known = new Map<K, Promise<V>>()
  return (key) => {
    const value = known.get(key) ?? look(key)
    known.set(key, value)
    return value
  }
}

const movementHash = ({ id, kind, dq, amount, payer_twin_id, payee_twin_id, created_at }: MovementRow): string =>
  contentHash({ id, kind, dq, amount, payer_twin_id, payee_twin_id, created_at })

/** The form that existing clients read as JSON. */
export const binderJson = ({ record, twistId, author, type }: BinderEntry) => ({
  twistId,
  timestamp: record.timestamp,
  data: {
    entry: { amount: record.amount, fromAddress: record.fromAddress, type: record.fileType },
    entryAuthor: author,
    entryFiles: [record.fileIdentity],
    entryOperation: record.fileAction,
    entryType: type,
  },
})
