import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { type DigitalQuantityRow, digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { balanceOf, balances } from '../../money/ledger/balance.js'
import { reserveSupply } from '../../money/ledger/reservation.js'
import { createQuantity, type TwinContext } from '../../money/twins/twin.js'
import type { Writer } from '../../storage/storage.js'
import { binderImports, type ImportedQuantity } from '../statements/binder-import-row.js'
import { binderFault } from './binder-file.js'
import { settled } from './settle.js'
import { type BinderTally, checkDecimals, decimalsFor, type QuantityTally, unitsIn } from './tally.js'

interface Deciding {
  readonly twinId: number
  readonly token: string
  readonly tally: BinderTally
  readonly pieces: number
}

type QuantityContext = TwinContext & Pick<ServiceContext, 'clock'>

/**
 * Decides that all stored rows will be posted. Nothing can refuse them any more: the digital quantities exist, and what
 * the issuers will issue is reserved. Throws `binder_invalid`, `import_ended`.
 */
export async function decide(
  tx: Writer,
  { twinId, token, tally, pieces }: Deciding,
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

/** Creates a digital quantity of which only its hash and its amounts are known. */
const unknownQuantity = (tx: Writer, tally: QuantityTally, service: QuantityContext): Promise<DigitalQuantityRow> => {
  const shortcode = tally.dq.slice(2, 10)
  const names = {
    name: `Imported ${shortcode}`,
    shortcode,
    shortdescription: 'A binder names it. Its definition is unknown.',
  }
  return createQuantity(tx, { ...names, decimals: decimalsFor(tally), hash: tally.dq }, service)
}
