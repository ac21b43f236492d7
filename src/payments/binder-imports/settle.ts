import { letOthersRun } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { balanceOf, balances } from '../../money/ledger/balance.js'
import { type Claimant, isHeld, newClaim } from '../../storage/claim.js'
import { getExisting } from '../../storage/existing.js'
import { allRows } from '../../storage/page.js'
import type { Writer } from '../../storage/storage.js'
import { type BinderImportRow, binderImports, binderPieces, pieceId } from '../statements/binder-import-row.js'
import { postPiece } from './piece.js'

/**
 * Settles the imports that earlier processes left: undoes those whose rows were still being checked, and completes the
 * others. `claimant` knows which are in progress.
 */
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

/** Undoes or completes an import whose run has ended. Does nothing if someone else settles it. */
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

/** Removes an import that is not decided, with its pieces. */
export async function undoCheck(tx: Writer, twinId: number, token: string): Promise<undefined> {
  const row = await tx.get(binderImports, twinId)
  if (row?.token !== token || row.state !== 'checking') return
  for (let number = 0; number < row.pieces; number++) tx.remove(binderPieces, pieceId(twinId, number))
  tx.remove(binderImports, twinId)
}

interface Posting {
  readonly twinId: number
  readonly token: string
  /** How many pieces wait. */
  readonly pieces: number
}

/**
 * Posts the pieces of a decided import, the oldest first. Returns how many stand-ins were created. Throws
 * `import_ended` if someone else took it over.
 */
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

/** Ends an import whose rows are all posted. From now on they count, and everybody sees them. */
export async function settled(tx: Writer, { id, quantities }: BinderImportRow): Promise<void> {
  for (const { dq } of quantities) {
    const { importing: _, ...balance } = await balanceOf(tx, id, dq)
    tx.put(balances, balance)
  }
  tx.remove(binderImports, id)
}
