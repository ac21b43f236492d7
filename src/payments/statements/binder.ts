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

/** A record of value received or sent, or of a delegate received (Micro Payment Service Interface, section 2). */
export interface BinderRecord {
  readonly timestamp: string
  readonly fileAction: 'receive' | 'send'
  /** The hash of the delegate or the movement. A movement has the same hash in both binders. */
  readonly fileIdentity: string
  /** The digital quantity. Empty for a delegate. */
  readonly fileType: string
  /** Null for a delegate. */
  readonly amount: number | null
  /** On a `receive`, the hostname of the payer or persona. Otherwise empty. */
  readonly fromAddress: string
  /** On a `send`, the hostname of the payee. Otherwise empty. */
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

/** A record, and the fields that only its JSON form has. */
export interface BinderEntry {
  readonly record: BinderRecord
  readonly twistId: string
  readonly author: string
  /** The kind of movement, or `delegate`. */
  readonly type: string
}

/** Unix milliseconds, inclusive. */
export interface Span {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

const BATCH_SIZE = 200

/** An entry or a delegate of a binder, with its time in Unix milliseconds. */
type BinderItem = { readonly at: number } & ({ readonly entry: EntryRow } | { readonly delegate: DelegateRow })

/** A twin's entries and delegates, newest first, read in batches so that a binder of any length can be streamed. */
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

/** Index keys of the last entry and the last delegate of a batch. */
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
  // Sorting is stable, so each kind keeps its order, and the next batch continues exactly here.
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

/** Reads each key once, because many rows name the same few. */
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

/** The JSON form of an entry, as existing clients read it. */
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
