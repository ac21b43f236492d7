import type { ServiceContext } from '../context.js'
import { quantityOf } from '../digital-quantities/digital-quantity.js'
import { contentHash } from '../hash.js'
import { toAmount } from '../ledger/amount.js'
import { type EntryRow, entries, type MovementRow, movements } from '../ledger/movement.js'
import type { Key, Reader } from '../storage/storage.js'
import { type TwinRow, twins } from './twin.js'

/** A record of value received or sent (interface.md section 2). */
export interface BinderRecord {
  readonly timestamp: string
  readonly fileAction: 'receive' | 'send'
  /** The hash of the movement: the same in the payer's binder and the payee's. */
  readonly fileIdentity: string
  readonly fileType: string
  readonly amount: number
  /** Hostname of the payer on a `receive`, else empty. */
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

/** A record and the two hashes and names that only its JSON form shows. */
export interface BinderEntry {
  readonly record: BinderRecord
  readonly entry: EntryRow
  readonly movement: MovementRow
  readonly author: string
}

/** Unix milliseconds, both included. */
export interface Span {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

const PIECE = 200

/** A twin's entries, newest first, fetched in pieces so that a binder of any length is streamed. */
export async function* binderEntries(
  { storage }: Pick<ServiceContext, 'storage'>,
  twin: TwinRow,
  { from = Number.NEGATIVE_INFINITY, to }: Span,
): AsyncGenerator<BinderEntry[]> {
  let after: Key[] | undefined = to === undefined ? undefined : [twin.id, to + 1, 0]
  for (;;) {
    const query = { index: 'byTwin', prefix: [twin.id], limit: PIECE, reverse: true, ...(after && { after }) } as const
    const { rows, described } = await storage.read(async (tx) => {
      const rows = await tx.find(entries, query)
      return {
        rows,
        described: await describe(
          tx,
          twin,
          rows.filter(({ at }) => at >= from),
        ),
      }
    })
    if (described.length > 0) yield described
    const last = rows.at(-1)
    if (!last || rows.length < PIECE || described.length < rows.length) return
    after = [twin.id, last.at, last.id]
  }
}

async function describe(tx: Reader, twin: TwinRow, rows: EntryRow[]): Promise<BinderEntry[]> {
  const hostnameOf = remembered(async (id: number) => (await tx.get(twins, id))?.hostname ?? '')
  const decimalsOf = remembered(async (dq: string) => (await quantityOf(tx, dq)).decimals)
  const described = []
  for (const entry of rows) {
    const movement = (await tx.get(movements, entry.movement_id)) as MovementRow
    const counterpart = await hostnameOf(entry.counterpart_twin_id)
    const received = movement.payee_twin_id === twin.id
    const record: BinderRecord = {
      timestamp: new Date(entry.at).toISOString(),
      fileAction: received ? 'receive' : 'send',
      fileIdentity: movementHash(movement),
      fileType: entry.dq,
      amount: toAmount(movement.amount, await decimalsOf(entry.dq)),
      fromAddress: received ? counterpart : '',
      destinationAddress: received ? '' : counterpart,
    }
    described.push({ record, entry, movement, author: received ? counterpart : twin.hostname })
  }
  return described
}

/** Many rows name the same few things: each is looked up once. */
function remembered<K, V>(look: (key: K) => Promise<V>): (key: K) => Promise<V> {
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
export const binderJson = ({ record, entry, movement, author }: BinderEntry) => ({
  twistId: contentHash({ entry: entry.id, movement: record.fileIdentity, at: entry.at }),
  timestamp: record.timestamp,
  data: {
    entry: { amount: record.amount, fromAddress: record.fromAddress, type: record.fileType },
    entryAuthor: author,
    entryFiles: [record.fileIdentity],
    entryOperation: record.fileAction,
    entryType: movement.kind,
  },
})
