import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { fundsFor, type MovementOrder, movementIds, postWith } from '../../money/ledger/movement.js'
import { drawSupply } from '../../money/ledger/reservation.js'
import { createTwin, type TwinContext, twinByHostname, twinNamed } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type BinderImportRow,
  type BinderPieceRow,
  type ImportedQuantity,
  importedDelegates,
} from '../statements/binder-import-row.js'
import { type BinderRow, unitsIn } from './binder-file.js'

type StoredRow = readonly [
  at: number,
  action: BinderRow['action'],
  identity: string,
  counterpart: string,
  /** Index of its digital quantity, and a count of 10^-9. Absent for a delegate. */
  quantity?: number,
  nanos?: string,
]
/** Rows of a binder as the text of a piece. `dqs`: the digital quantities in the order in which the file names them. */
export const pieceText = (rows: readonly BinderRow[], dqs: readonly string[]): string =>
  JSON.stringify(
    rows.map(({ at, action, identity, counterpart, value }): StoredRow => {
      const row = [at, action, identity, counterpart] as const
      return value ? [...row, dqs.indexOf(value.dq), String(value.nanos)] : row
    }),
  )

/** A row whose digital quantity and counterpart exist. */
interface PlacedRow extends Pick<BinderRow, 'at' | 'action' | 'identity' | 'counterpart'> {
  /** Null: a delegate. */
  readonly value: { twinId: number; issuerTwinId: number; dq: string; units: bigint } | null
}

/**
 * Posts the rows of a piece, the oldest first. The issuer funds what counterparts pay, so each of them ends with what
 * the twin sent it. Returns how many stand-ins it created.
 */
export async function postPiece(
  tx: Writer,
  { id: twinId, quantities, is_opened }: BinderImportRow,
  piece: BinderPieceRow,
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<number> {
  const issuers: number[] = []
  for (const { dq } of quantities) issuers.push((await quantityOf(tx, dq)).issuer_twin_id)
  const { rows, standIns } = await placeRows(tx, piece, { quantities, issuers }, service)
  const issued = [...(is_opened ? [] : openings(twinId, quantities, issuers)), ...fundings(rows)]
  const orders = [...issued, ...rows.flatMap((row) => movementOf(twinId, row))]
  for (const { dq, reservation_id } of quantities) {
    const amount = orders.reduce((sum, order) => sum + (order.dq === dq && order.payerIsIssuer ? order.amount : 0n), 0n)
    if (amount > 0n) await drawSupply(tx, reservation_id, amount)
  }
  const ids = await tx.nextIds(orders.flatMap(() => movementIds))
  for (const [at, order] of orders.entries())
    postWith(tx, order, await fundsFor(tx, order), ids.slice(at * movementIds.length))
  await recordDelegates(tx, twinId, rows)
  return standIns
}

async function placeRows(
  tx: Writer,
  piece: BinderPieceRow,
  { quantities, issuers }: { quantities: readonly ImportedQuantity[]; issuers: readonly number[] },
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<{ rows: PlacedRow[]; standIns: number }> {
  const stored: StoredRow[] = JSON.parse(piece.rows)
  const rows: PlacedRow[] = []
  const twinIds = new Map<string, number>()
  let standIns = 0
  for (const [at, action, identity, counterpart, place, nanos] of stored.reverse()) {
    const row = { at, action, identity, counterpart }
    if (place === undefined || nanos === undefined) {
      rows.push({ ...row, value: null })
      continue
    }
    const { dq, decimals } = required(quantities[place], `digital quantity ${place} of the binder`)
    if (!twinIds.has(counterpart)) {
      const { twinId, isNew } = await standIn(tx, { address: counterpart, dq }, service)
      twinIds.set(counterpart, twinId)
      if (isNew) standIns++
    }
    const twinId = required(twinIds.get(counterpart), `the twin ${counterpart}`)
    const issuerTwinId = required(issuers[place], `the issuer of ${dq}`)
    rows.push({ ...row, value: { twinId, issuerTwinId, dq, units: unitsIn(BigInt(nanos), decimals) } })
  }
  return { rows, standIns }
}

const openings = (twinId: number, quantities: readonly ImportedQuantity[], issuers: readonly number[]) =>
  quantities.flatMap(({ dq, opening, opening_at: at }, place): MovementOrder[] => {
    const amount = BigInt(opening)
    const payerTwinId = required(issuers[place], `the issuer of ${dq}`)
    if (amount === 0n) return []
    return [{ kind: 'issue', dq, amount, payerTwinId, payeeTwinId: twinId, at, payerIsIssuer: true }]
  })

/** The issues of what counterparts pay. The issuer of a digital quantity needs none of it. */
function fundings(rows: readonly PlacedRow[]): MovementOrder[] {
  const orders = new Map<string, MovementOrder>()
  for (const { at, action, value } of rows) {
    if (action !== 'receive' || !value || value.twinId === value.issuerTwinId) continue
    const { dq, twinId, issuerTwinId, units } = value
    const key = `${twinId}:${dq}`
    const amount = (orders.get(key)?.amount ?? 0n) + units
    const order = { kind: 'issue', dq, payerTwinId: issuerTwinId, payeeTwinId: twinId, payerIsIssuer: true } as const
    orders.set(key, { ...order, amount, at: orders.get(key)?.at ?? at })
  }
  return [...orders.values()]
}

function movementOf(twinId: number, { at, action, identity, value }: PlacedRow): MovementOrder[] {
  if (!value) return []
  const { dq, units: amount, twinId: other, issuerTwinId } = value
  const [payerTwinId, payeeTwinId] = action === 'receive' ? [other, twinId] : [twinId, other]
  const payerIsIssuer = payerTwinId === issuerTwinId
  const kind = payerIsIssuer ? 'issue' : 'transfer'
  return [{ kind, dq, amount, payerTwinId, payeeTwinId, at, identity, ...(payerIsIssuer && { payerIsIssuer }) }]
}

async function recordDelegates(tx: Writer, twin_id: number, rows: readonly PlacedRow[]): Promise<void> {
  const received = rows.filter(({ value }) => value === null)
  const ids = await tx.nextIds(received.map(() => importedDelegates.name))
  for (const [place, { at, action, identity, counterpart }] of received.entries())
    tx.put(importedDelegates, {
      id: required(ids[place], 'the number of an imported delegate'),
      ...{ twin_id, action, identity, counterpart, at },
    })
}

/** Finds the twin with an address, or creates a stand-in for it. Nobody owns a stand-in, so it holds what it receives. */
async function standIn(
  tx: Writer,
  { address, dq }: { address: string; dq: string },
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<{ twinId: number; isNew: boolean }> {
  const known = await twinNamed(tx, address)
  if (known) return { twinId: known.id, isNew: false }
  const hostname = await freeHostname(tx, address, service.options.twinDomain)
  const order = { owner: `stand-in:${address}`, address, dq, hostname, at: service.clock.now() } as const
  return { twinId: (await createTwin(tx, order, service)).id, isNew: true }
}

/** A hostname with as much of the address as it takes. Addresses may begin alike, and a seed chooses any hostname. */
async function freeHostname(tx: Reader, address: string, domain: string): Promise<string> {
  const usual = `${address.slice(0, 32)}.${domain}`
  if (!(await twinByHostname(tx, usual))) return usual
  for (let more = 0; ; more++) {
    const hostname = `${address}${more === 0 ? '' : `-${more}`}.${domain}`
    if (!(await twinByHostname(tx, hostname))) return hostname
  }
}
