import { letOthersRun } from '../../base/ports.js'
import { Problem, problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import {
  type DigitalQuantityRow,
  digitalQuantities,
  quantityOf,
} from '../../money/digital-quantities/digital-quantity.js'
import {
  balanceOf,
  balances,
  drawSupply,
  fundsFor,
  type MovementOrder,
  movementIds,
  postWith,
  reserveSupply,
} from '../../money/ledger/movement.js'
import { createQuantity, createTwin, type TwinContext, twinByHostname, twinNamed } from '../../money/twins/twin.js'
import { type Claimant, isHeld, newClaim } from '../../storage/claim.js'
import { allRows, getExisting, mapInOrder } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type BinderImportRow,
  type BinderPieceRow,
  binderImports,
  binderPieces,
  type ImportedQuantity,
  importedDelegates,
  pieceId,
} from '../statements/binder-import-row.js'
import {
  type BinderRow,
  type BinderTally,
  binderFault,
  checkDecimals,
  decimalsFor,
  type QuantityTally,
  unitsIn,
} from './binder-file.js'

/** Settles the imports that earlier processes left: undoes those that were being checked, and completes the others. */
export async function settleImports(service: ServiceContext, claimant: Claimant): Promise<void> {
  const left = await service.storage.read(async (tx) => {
    const rows: BinderImportRow[] = []
    for await (const row of allRows(tx, binderImports, { index: 'id', prefix: [] }))
      if (!(await isHeld(tx, row.token, claimant))) rows.push(row)
    return rows
  })
  for (const row of left)
    await settleImport(row, service).catch((cause: unknown) =>
      service.log.error(`the import of a binder into twin ${row.id} could not be settled`, cause),
    )
}

/** `pieces`: how many wait. */
interface Posting {
  readonly twinId: number
  readonly token: string
  readonly pieces: number
}

export async function settleImport(left: BinderImportRow, service: ServiceContext): Promise<void> {
  const { storage } = service
  const token = newClaim(service)
  const { id: twinId } = left
  const taken = await storage.write(async (tx) => {
    const row = await tx.get(binderImports, twinId)
    if (row?.token !== left.token) return undefined
    if (row.state === 'checking') return undoCheck(tx, twinId, row.token)
    tx.put(binderImports, { ...row, token })
    return row
  })
  if (taken) await postPieces({ twinId, token, pieces: taken.pieces }, service)
}

export async function undoCheck(tx: Writer, twinId: number, token: string): Promise<undefined> {
  const row = await tx.get(binderImports, twinId)
  if (row?.token !== token || row.state !== 'checking') return
  for (let number = 0; number < row.pieces; number++) tx.remove(binderPieces, pieceId(twinId, number))
  tx.remove(binderImports, twinId)
}

/** Posts the pieces of a decided import, the oldest first. Returns how many stand-ins were created. Throws `import_ended`. */
export async function postPieces(
  { twinId, token, pieces }: Posting,
  service: ServiceContext,
  onPosted: (pieces: number) => void = () => {},
): Promise<number> {
  let standIns = 0
  for (let left = pieces; left > 0; left--) {
    standIns += await service.storage.write((tx) => postNext(tx, { twinId, token, pieces: left }, service))
    onPosted(pieces - left + 1)
    await letOthersRun()
  }
  return standIns
}

async function postNext(tx: Writer, { twinId, token, pieces }: Posting, service: ServiceContext): Promise<number> {
  const row = await tx.get(binderImports, twinId)
  if (row?.token !== token || row.state !== 'posting' || row.pieces !== pieces) throw problem('import_ended')
  const piece = await getExisting(tx, binderPieces, pieceId(twinId, pieces - 1))
  const standIns = await postPiece(tx, row, piece, service)
  tx.remove(binderPieces, piece.id)
  if (pieces === 1) await settled(tx, row)
  else tx.put(binderImports, { ...row, pieces: pieces - 1, is_opened: true })
  return standIns
}

export async function settled(tx: Writer, { id, quantities }: BinderImportRow): Promise<void> {
  for (const { dq } of quantities) {
    const { importing: _, ...balance } = await balanceOf(tx, id, dq)
    tx.put(balances, balance)
  }
  tx.remove(binderImports, id)
}

type QuantityContext = TwinContext & Pick<ServiceContext, 'clock'>
/** Decides that all stored rows will be posted. Nothing can refuse them any more. Throws `binder_invalid`, `import_ended`. */
export async function decide(
  tx: Writer,
  { twinId, token, tally, pieces }: { twinId: number; token: string; tally: BinderTally; pieces: number },
  service: QuantityContext,
): Promise<(ImportedQuantity & { is_new: boolean })[]> {
  const row = await tx.get(binderImports, twinId)
  if (row?.token !== token || row.state !== 'checking' || row.pieces !== pieces) throw problem('import_ended')
  const decided = await mapInOrder(tally.quantities(), (each) => prepare(tx, twinId, each, service))
  const quantities = decided.map(({ is_new: _, ...quantity }) => quantity)
  tx.put(binderImports, { ...row, state: 'posting', quantities })
  if (pieces === 0) await settled(tx, { ...row, quantities })
  return decided
}

async function prepare(tx: Writer, twinId: number, tally: QuantityTally, service: QuantityContext) {
  const { dq, received, opening, oldestAt, largest } = tally
  const known = await tx.get(digitalQuantities, dq)
  if (known) checkDecimals(tally, known.decimals)
  const { decimals, issuer_twin_id: issuerTwinId } = known ?? (await unknownQuantity(tx, tally, service))
  const reservation_id = await tx.nextId('payments')
  try {
    const amount = unitsIn(received + opening, decimals)
    await reserveSupply(tx, { paymentId: reservation_id, dq, issuerTwinId, amount, maker: null })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw binderFault(largest.line, 'amount', 'less: the issuer cannot issue all that is received')
  }
  tx.put(balances, { ...(await balanceOf(tx, twinId, dq)), importing: true })
  const openingUnits = String(unitsIn(opening, decimals))
  return { dq, decimals, opening: openingUnits, opening_at: oldestAt, reservation_id, is_new: !known }
}

function unknownQuantity(tx: Writer, tally: QuantityTally, service: QuantityContext): Promise<DigitalQuantityRow> {
  const shortcode = tally.dq.slice(2, 10)
  const shortdescription = 'A binder names it. Its definition is unknown.'
  const names = { name: `Imported ${shortcode}`, shortcode, shortdescription, hash: tally.dq }
  return createQuantity(tx, { ...names, decimals: decimalsFor(tally) }, service)
}

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

/** Posts the rows of a piece, the oldest first. The issuer funds what counterparts pay. Returns the number of new stand-ins. */
async function postPiece(
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
