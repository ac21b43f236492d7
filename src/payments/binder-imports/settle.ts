import { letOthersRun } from '../../base/ports.js'
import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { type DigitalQuantityRow, digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { balanceOf, balances } from '../../money/ledger/balance.js'
import { reserveSupply } from '../../money/ledger/reservation.js'
import { createQuantity, type TwinContext } from '../../money/twins/twin.js'
import { type Claimant, isHeld, newClaim } from '../../storage/claim.js'
import { getExisting } from '../../storage/existing.js'
import { allRows } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import {
  type BinderImportRow,
  binderImports,
  binderPieces,
  type ImportedQuantity,
  pieceId,
} from '../statements/binder-import-row.js'
import {
  type BinderTally,
  binderFault,
  checkDecimals,
  decimalsFor,
  type QuantityTally,
  unitsIn,
} from './binder-file.js'
import { postPiece } from './piece.js'

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
  const decided = []
  for (const each of tally.quantities()) decided.push(await prepare(tx, twinId, each, service))
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
