import { canSpend } from '../../base/owner.js'
import { letOthersRun } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { CsvSource } from '../../http/csv/csv-records.js'
import { type FlowRun, runFlow } from '../../jobs/flows/flow.js'
import { digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { entries } from '../../money/ledger/movement.js'
import { type TwinRow, twinByHostname } from '../../money/twins/twin.js'
import { isHeld } from '../../storage/claim.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type BinderPieceRow,
  binderImports,
  binderPieces,
  type ImportedQuantity,
  importedDelegates,
  pieceId,
} from '../statements/binder-import-row.js'
import { type BinderRow, BinderTally, type BinderValue, binderFault, binderRows, checkFineness } from './binder-file.js'
import { decide, pieceText, postPieces, settleImport, undoCheck } from './settle.js'

export interface BinderImport {
  /** Of the twin, which has no history yet. */
  readonly hostname: string
  /** The CSV of a binder: one text, or pieces of text or UTF-8, such as a stream of a file. */
  readonly csv: string | CsvSource
  /** Is called after each step with the number of rows that are done. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined
}

export interface ImportProgress {
  /** First every row is checked, and then every row is posted. */
  readonly step: 'check' | 'post'
  readonly rows: number
}

export interface ImportedBinder {
  readonly hostname: string
  readonly rows: number
  /** How many of the rows are delegates, which move no value. */
  readonly delegates: number
  /** How many twins were created for counterparts. */
  readonly stand_ins: number
  readonly digital_quantities: ImportedAmounts[]
}

export interface ImportedAmounts {
  readonly dq: string
  readonly decimals: number
  /** Whether only the binder names it, so that it was created. */
  readonly is_new: boolean
  /** What the twin had before the oldest row. */
  readonly opening: number
  readonly balance: number
}

const PIECE_ROWS = 500

/**
 * Imports all rows of a binder into a twin without a history, or none. Throws `not_found`, `binder_invalid`,
 * `binder_refused`, `import_in_progress`, `import_ended`.
 *
 * First the rows are checked and stored in pieces, which nobody sees. Then one transaction decides that they will be
 * posted, and each piece is posted in a transaction of its own. If the process ends before the decision, the next start
 * undoes the import. After it, the next start completes it.
 */
export async function importBinder(
  { hostname, csv, onProgress = () => {} }: BinderImport,
  service: ServiceContext,
): Promise<ImportedBinder> {
  await settleEarlier(hostname, service)
  return runFlow('import of a binder', service, async (run) => {
    const twin = await run.transaction(
      'begin',
      (tx) => beginImport(tx, hostname, run.token),
      (tx, { id }) => undoCheck(tx, id, run.token),
    )
    const tally = new BinderTally()
    const checking = { twin, run, tally, csv: typeof csv === 'string' ? [csv] : csv, onProgress }
    const { rows, delegates, pieces } = await checkRows(checking, service)
    const decided = await run.transaction('decide', async (tx) => {
      await checkEmpty(tx, twin)
      return decide(tx, { twinId: twin.id, token: run.token, tally, pieces }, service)
    })
    const posted = await postPieces({ twinId: twin.id, token: run.token, pieces }, service, (pieces) =>
      onProgress({ step: 'post', rows: Math.min(pieces * PIECE_ROWS, rows) }),
    )
    const shown = decided.map((quantity) => shownAmounts(quantity, tally))
    return { hostname, rows, delegates, stand_ins: posted, digital_quantities: shown }
  })
}

async function settleEarlier(hostname: string, service: ServiceContext): Promise<void> {
  const { storage } = service
  const row = await storage.read(async (tx) => {
    const twin = await twinByHostname(tx, hostname)
    const row = twin && (await tx.get(binderImports, twin.id))
    return (await isHeld(tx, row?.token, service)) ? undefined : row
  })
  if (row) await settleImport(row, service)
}

async function beginImport(tx: Writer, hostname: string, token: string): Promise<TwinRow> {
  const twin = await twinByHostname(tx, hostname)
  if (!twin) throw problem('not_found', { detail: `No twin has the hostname "${hostname}".` })
  if (await tx.get(binderImports, twin.id)) throw problem('import_in_progress')
  if (!canSpend(twin.owner))
    throw problem('binder_refused', { detail: 'Nobody can spend what it holds. Name a different twin.' })
  await checkEmpty(tx, twin)
  tx.put(binderImports, { id: twin.id, token, state: 'checking', pieces: 0, is_opened: false, quantities: [] })
  return twin
}

/** A delegate says nothing about its holder, because any persona may give one to any twin. Throws `binder_refused`. */
async function checkEmpty(tx: Reader, { id }: TwinRow): Promise<void> {
  const first = { index: 'byTwin', prefix: [id], limit: 1 } as const
  const [entry] = await tx.find(entries, first)
  const [imported] = await tx.find(importedDelegates, first)
  const detail =
    'It has a history already. If you repeat an import, its rows are there. Otherwise create a twin for them.'
  if (entry ?? imported) throw problem('binder_refused', { detail })
}

interface Checking {
  readonly twin: TwinRow
  readonly run: FlowRun
  readonly tally: BinderTally
  readonly csv: CsvSource
  readonly onProgress: (progress: ImportProgress) => void
}

async function checkRows({ twin, run, tally, csv, onProgress }: Checking, service: ServiceContext) {
  const done = { rows: 0, delegates: 0, pieces: 0 }
  const known = new Map<string, number>()
  let waiting: BinderRow[] = []
  const store = async () => {
    const piece = { number: done.pieces++, rows: pieceText(waiting.slice(0, PIECE_ROWS), tally.order) }
    await run.transaction('store a piece', (tx) => storePiece(tx, { twin_id: twin.id, ...piece }, run.token))
    waiting = waiting.slice(PIECE_ROWS)
    await letOthersRun()
  }
  for await (const rows of binderRows(csv)) {
    for (const row of rows) {
      if (row.value) await checkValue(row, row.value)
      else done.delegates++
    }
    done.rows += rows.length
    waiting.push(...rows)
    while (waiting.length >= PIECE_ROWS) await store()
    if (rows.length > 0) onProgress({ step: 'check', rows: done.rows })
  }
  if (waiting.length > 0) await store()
  return done

  async function checkValue(row: BinderRow, value: BinderValue): Promise<void> {
    const { line, action, counterpart } = row
    const column = action === 'receive' ? 'fromAddress' : 'destinationAddress'
    if (counterpart === twin.address) throw binderFault(line, column, 'the address of another twin')
    if (!tally.of(value.dq)) {
      if (tally.order.length === MOST_QUANTITIES)
        throw binderFault(line, 'fileType', `one of at most ${MOST_QUANTITIES} digital quantities`)
      const quantity = await service.storage.read((tx) => tx.get(digitalQuantities, value.dq))
      if (quantity) known.set(value.dq, quantity.decimals)
    }
    const decimals = known.get(value.dq)
    if (decimals !== undefined) checkFineness({ decimals: value.decimals, line }, decimals)
    tally.add(row, value)
  }
}

async function storePiece(tx: Writer, piece: Omit<BinderPieceRow, 'id'>, token: string): Promise<void> {
  const { twin_id, number } = piece
  const row = await tx.get(binderImports, twin_id)
  if (row?.token !== token || row.state !== 'checking' || row.pieces !== number) throw problem('import_ended')
  tx.put(binderPieces, { id: pieceId(twin_id, number), ...piece })
  tx.put(binderImports, { ...row, pieces: number + 1 })
}

const MOST_QUANTITIES = 100

function shownAmounts({ is_new, ...quantity }: ImportedQuantity & { is_new: boolean }, tally: BinderTally) {
  const { dq, decimals, opening } = quantity
  const { net = 0n } = tally.of(dq) ?? {}
  const nanos = BigInt(opening) * 10n ** BigInt(9 - decimals) + net
  return { dq, decimals, is_new, opening: toAmount(opening, decimals), balance: toAmount(nanos, 9) }
}
