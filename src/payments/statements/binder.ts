import type { Owner } from '../../base/owner.js'
import { letOthersRun } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { contentHash } from '../../base/secrets.js'
import { type DelegateRow, delegates, hasValidHash } from '../../consent/personas/delegate.js'
import { delegatesHeld } from '../../consent/personas/held-delegates.js'
import { personaOf } from '../../consent/personas/persona.js'
import type { ServiceContext } from '../../http/context.js'
import { Amount, component, z } from '../../http/fields/schema.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import {
  type BalanceRow,
  balances,
  type EntryRow,
  entries,
  type MovementRow,
  movements,
  spendable,
} from '../../money/ledger/movement.js'
import { ownTwin, type TwinRow, twins } from '../../money/twins/twin.js'
import { keyIn } from '../../storage/key.js'
import { allRows, mapInOrder } from '../../storage/page.js'
import type { Key, Reader } from '../../storage/storage.js'
import { type ImportedDelegateRow, importedDelegates, isImporting } from './binder-import-row.js'

/** A record of value received or sent, or of a delegate received (Micro Payment Service Interface, section 2). */
interface BinderRecord {
  readonly timestamp: string
  readonly fileAction: 'receive' | 'send'
  /** The hash of the delegate or the movement. A movement has the same hash in both binders. */
  readonly fileIdentity: string
  /** The digital quantity. Empty for a delegate. */
  readonly fileType: string
  /** Null for a delegate. */
  readonly amount: number | null
  /** On a `receive`, the whole address of the payer's or the persona's twin. Otherwise empty. */
  readonly fromAddress: string
  /** On a `send`, the whole address of the payee's twin. Otherwise empty. */
  readonly destinationAddress: string
}

export type BinderColumn = keyof BinderRecord

export const binderColumns = [
  ...(['timestamp', 'fileAction', 'fileIdentity', 'fileType', 'amount'] as const),
  ...(['fromAddress', 'destinationAddress'] as const),
] as const satisfies readonly BinderColumn[]

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

const BATCH_SIZE = 100

type BinderItem = { readonly at: number } & (
  | { readonly entry: EntryRow }
  | { readonly delegate: DelegateRow }
  | { readonly imported: ImportedDelegateRow }
)

/** A twin's entries and delegates, newest first, read in batches, so that it can be streamed and other calls run between. */
export async function* binderEntries(
  { storage }: Pick<ServiceContext, 'storage'>,
  twin: TwinRow,
  { from = Number.NEGATIVE_INFINITY, to }: Span,
): AsyncGenerator<BinderEntry[]> {
  let cursor: Cursor = to === undefined ? {} : cursorAt(twin, to + 1)
  for (;;) {
    const { items, within, named } = await storage.read(async (tx) => {
      const items = await itemsAfter(tx, twin, cursor)
      const within = items.filter(({ at }) => at >= from)
      return { items, within, named: await readNamed(tx, within) }
    })
    if (within.length > 0) yield within.map((item) => describe(twin, item, named))
    if (items.length < BATCH_SIZE || within.length < items.length) return
    cursor = cursorAfter(cursor, items)
    await letOthersRun()
  }
}

/** Index keys of the last item of each kind in a batch. */
interface Cursor {
  readonly entry?: readonly [twin: number, at: number, id: number]
  readonly delegate?: readonly [twin: number, at: number, number: number, hash: string]
  readonly imported?: readonly [twin: number, at: number, id: number]
}

/** Before this time, in Unix milliseconds. */
const cursorAt = ({ id }: TwinRow, at: number): Cursor => ({
  entry: [id, at, 0],
  delegate: [id, at, 0, ''],
  imported: [id, at, 0],
})

async function itemsAfter(tx: Reader, { id }: TwinRow, past: Cursor): Promise<BinderItem[]> {
  if (await isImporting(tx, id)) return []
  const query = { index: 'byTwin', prefix: [id], limit: BATCH_SIZE, reverse: true } as const
  const moved = await tx.find(entries, { ...query, ...(past.entry && { after: past.entry }) })
  const received = await tx.find(delegates, { ...query, ...(past.delegate && { after: past.delegate }) })
  const brought = await tx.find(importedDelegates, { ...query, ...(past.imported && { after: past.imported }) })
  const items: BinderItem[] = moved.map((entry) => ({ at: entry.at, entry }))
  if (received.length + brought.length === 0) return items
  items.push(...received.map((delegate) => ({ at: delegate.created_at, delegate })))
  items.push(...brought.map((imported) => ({ at: imported.at, imported })))
  // Sorting is stable, so each kind keeps its order, and the next batch continues exactly here.
  return items.sort((a, b) => b.at - a.at).slice(0, BATCH_SIZE)
}

function cursorAfter(past: Cursor, items: readonly BinderItem[]): Cursor {
  let { entry, delegate, imported } = past
  for (const item of items)
    if ('entry' in item) entry = [item.entry.twin_id, item.at, item.entry.id]
    else if ('imported' in item) imported = [item.imported.twin_id, item.at, item.imported.id]
    else delegate = [item.delegate.twin_id, item.at, item.delegate.number, item.delegate.id]
  return { ...(entry && { entry }), ...(delegate && { delegate }), ...(imported && { imported }) }
}

interface Named {
  readonly movements: ReadonlyMap<number, MovementRow>
  /** Of the counterparts, by the id of their twin. */
  readonly addresses: ReadonlyMap<number, string>
  readonly decimals: ReadonlyMap<string, number>
  /** Of the personas' twins, by the persona's hash. */
  readonly personas: ReadonlyMap<string, string>
}

async function readNamed(tx: Reader, items: readonly BinderItem[]): Promise<Named> {
  const moved = items.flatMap((item) => ('entry' in item ? [item.entry] : []))
  const received = items.flatMap((item) => ('delegate' in item ? [item.delegate] : []))
  const ids = moved.map(({ movement_id }) => movement_id)
  const movementRows = await tx.getMany(movements, ids)
  const decimals = new Map<string, number>()
  for (const dq of new Set(moved.map(({ dq }) => dq))) decimals.set(dq, (await quantityOf(tx, dq)).decimals)
  const givers = await mapInOrder(new Set(received.map(({ persona }) => persona)), (persona) => personaOf(tx, persona))
  const named = [
    ...moved.map(({ counterpart_twin_id }) => counterpart_twin_id),
    ...givers.map(({ twin_id }) => twin_id),
  ]
  const twinRows = named.length > 0 ? await tx.getMany(twins, [...new Set(named)]) : []
  const addresses = new Map(twinRows.flatMap((row) => (row ? [[row.id, row.address] as const] : [])))
  return {
    movements: new Map(movementRows.flatMap((row) => (row ? [[row.id, row]] : []))),
    addresses,
    decimals,
    personas: new Map(givers.map(({ id, twin_id }) => [id, addresses.get(twin_id) ?? ''])),
  }
}

function describe(twin: TwinRow, item: BinderItem, named: Named): BinderEntry {
  const { at } = item
  if ('entry' in item) {
    const { id, dq, movement_id, counterpart_twin_id } = item.entry
    const movement = required(named.movements.get(movement_id), `movement ${movement_id}`)
    const identity = movement.identity ?? movementHash(movement)
    const amount = toAmount(movement.amount, required(named.decimals.get(dq), `the decimals of ${dq}`))
    return entryOf(twin, {
      ...{ at, received: movement.payee_twin_id === twin.id, identity, fileType: dq, amount, type: movement.kind },
      counterpart: named.addresses.get(counterpart_twin_id) ?? '',
      twist: { entry: id, movement: identity, at },
    })
  }
  const { identity, counterpart, received } =
    'delegate' in item ? ofDelegate(item.delegate, named) : ofImported(item.imported)
  const twist = { delegate: identity, at }
  return entryOf(twin, { at, received, identity, counterpart, fileType: '', amount: null, type: 'delegate', twist })
}

const ofDelegate = ({ id: identity, persona }: DelegateRow, { personas }: Named) => ({
  ...{ identity, counterpart: required(personas.get(persona), `persona ${persona}`), received: true },
})

const ofImported = ({ identity, counterpart, action }: ImportedDelegateRow) => ({
  ...{ identity, counterpart, received: action === 'receive' },
})

interface Described extends Pick<BinderRecord, 'fileType' | 'amount'>, Pick<BinderEntry, 'type'> {
  readonly at: number
  readonly received: boolean
  readonly identity: string
  /** Address of the other twin. */
  readonly counterpart: string
  /** Its hash is the entry's id. */
  readonly twist: Parameters<typeof contentHash>[0]
}

const entryOf = (
  { address }: TwinRow,
  { at, received, identity, counterpart, fileType, amount, type, twist }: Described,
): BinderEntry => ({
  record: {
    timestamp: new Date(at).toISOString(),
    fileAction: received ? 'receive' : 'send',
    fileIdentity: identity,
    fileType,
    amount,
    fromAddress: received ? counterpart : '',
    destinationAddress: received ? '' : counterpart,
  },
  twistId: contentHash(twist),
  author: received ? counterpart : address,
  type,
})

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

/** The caller's own twin, for a statement. Throws like `ownTwin`. */
export const statedTwin = ({ storage }: Pick<ServiceContext, 'storage'>, owner: Owner, hostname: string) =>
  storage.read((tx) => ownTwin(tx, owner, hostname))

/** `issuer`: a hostname, of a persona too. `integrity`: whether entries add up to a balance, or a delegate matches its hash. */
export const InventoryRecord = component('InventoryRecord', {
  fileIdentity: z.string(),
  issuer: z.string(),
  fileType: z.string(),
  amount: z.nullable(Amount),
  integrity: z.enum(['valid', 'broken']),
  timestamp: z.IsoTime,
})

type Held = z.output<typeof InventoryRecord>

/** What a twin holds now: its balances, then its delegates. The balances are read first, because a stream has no errors. */
export async function inventoryOf(service: Pick<ServiceContext, 'storage'>, twin: TwinRow) {
  const held = await balanceRecords(service, twin)
  return withDelegates(held, service, twin)
}

async function* withDelegates(first: Held[], service: Pick<ServiceContext, 'storage'>, twin: TwinRow) {
  yield first
  for await (const held of delegatesHeld(service, twin.id))
    yield await service.storage.read((tx) => mapInOrder(held, (delegate) => delegateRecord(tx, twin, delegate)))
}

/** The entries are summed in slices. If they differ from the balances, the clock was moved, and one transaction sums again. */
async function balanceRecords({ storage }: Pick<ServiceContext, 'storage'>, twin: TwinRow): Promise<Held[]> {
  const sums = new Map<string, Sum>()
  let after: readonly Key[] | undefined
  for (;;) {
    const past = after
    const { rows, records } = await storage.read(async (tx) => {
      const rows = await entriesAfter(tx, twin, past)
      if (rows.length === SLICE) return { rows, records: undefined }
      return { rows, records: await recordsOf(tx, twin, addEntries(new Map(sums), rows)) }
    })
    if (records?.every(({ integrity }) => integrity === 'valid')) return records
    if (records) return storage.read(async (tx) => recordsOf(tx, twin, await sumAtOnce(tx, twin)))
    addEntries(sums, rows)
    const last = rows.at(-1)
    after = last && keyIn(entries.indexes.byTwin, last)
    await letOthersRun()
  }
}

const SLICE = 500

const entriesAfter = (tx: Reader, { id }: TwinRow, after: readonly Key[] | undefined): Promise<EntryRow[]> =>
  tx.find(entries, { index: 'byTwin', prefix: [id], limit: SLICE, ...(after && { after }) })

async function recordsOf(tx: Reader, twin: TwinRow, sums: ReadonlyMap<string, Sum>): Promise<Held[]> {
  const held = await tx.find(balances, { index: 'byTwin', prefix: [twin.id], limit: 1000 })
  return mapInOrder(held, (balance) => balanceRecord(tx, twin, balance, sums.get(balance.dq)))
}

interface Sum {
  readonly amount: bigint
  readonly lastAt: number
}

function addEntries(sums: Map<string, Sum>, rows: readonly EntryRow[]): Map<string, Sum> {
  for (const { dq, amount, at } of rows) {
    const sum = sums.get(dq) ?? { amount: 0n, lastAt: at }
    sums.set(dq, { amount: sum.amount + BigInt(amount), lastAt: Math.max(sum.lastAt, at) })
  }
  return sums
}

const delegateRecord = async (tx: Reader, twin: TwinRow, delegate: DelegateRow): Promise<Held> => ({
  fileIdentity: delegate.id,
  issuer: (await personaOf(tx, delegate.persona)).hostname,
  fileType: '',
  amount: null,
  integrity: hasValidHash(delegate, twin) ? 'valid' : 'broken',
  timestamp: new Date(delegate.created_at).toISOString(),
})

async function sumAtOnce(tx: Reader, twin: TwinRow): Promise<Map<string, Sum>> {
  const sums = new Map<string, Sum>()
  for await (const entry of allRows(tx, entries, { index: 'byTwin', prefix: [twin.id] })) addEntries(sums, [entry])
  return sums
}

async function balanceRecord(tx: Reader, twin: TwinRow, balance: BalanceRow, sum?: Sum): Promise<Held> {
  const quantity: DigitalQuantityRow = await quantityOf(tx, balance.dq)
  const issuer = await tx.get(twins, quantity.issuer_twin_id)
  return {
    fileIdentity: contentHash({ twin: twin.address, dq: balance.dq }),
    issuer: issuer?.hostname ?? '',
    fileType: balance.dq,
    amount: toAmount(spendable(balance), quantity.decimals),
    integrity: balance.importing || (sum?.amount ?? 0n) === BigInt(balance.amount) ? 'valid' : 'broken',
    timestamp: new Date((balance.importing ? undefined : sum?.lastAt) ?? twin.created_at).toISOString(),
  }
}
