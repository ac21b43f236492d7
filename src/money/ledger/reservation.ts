import { problem } from '../../base/problem.js'
import { getExisting } from '../../storage/existing.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { MAX_UNITS } from './amount.js'
import { type BalanceRow, balanceOf, balances, reserved, spendable } from './balance.js'

/**
 * Supply of a digital quantity that is kept free, so that an amount can surely be issued: what a card is charged for, or
 * what an import of a binder issues.
 */
export interface ReservationRow {
  /** The id of its payment. That of an import is a number of the same counter. */
  readonly id: number
  readonly dq: string
  readonly issuer_twin_id: number
  /** Smallest units, above zero. */
  readonly amount: string
  /** Whose limits the charge counts against. Null for an import. */
  readonly maker: string | null
}

export const reservations = collection<ReservationRow>()(
  'reservations',
  { byMaker: { fields: ['maker'] } },
  {
    refs: { dq: 'digital_quantities', issuer_twin_id: 'twins' },
    growth: { by: 'the service', bound: 'One for each card charge or import in progress.' },
    retention: { until: 'the card was charged or declined, or the binder is imported' },
  },
)

export interface Reserving {
  readonly paymentId: number
  readonly dq: string
  readonly issuerTwinId: number
  readonly amount: bigint
  readonly maker: string | null
}

/** Whether someone's charges that have no outcome yet hold at least this many reservations. */
export const hasReserved = async (tx: Reader, maker: string, many: number): Promise<boolean> =>
  (await tx.find(reservations, { index: 'byMaker', prefix: [maker], limit: many })).length >= many

/** Reserves supply. Throws `amount_invalid` if that much cannot be issued in addition to what is reserved already. */
export async function reserveSupply(
  tx: Writer,
  { paymentId, dq, issuerTwinId, amount, maker }: Reserving,
): Promise<void> {
  const issuer = await balanceOf(tx, issuerTwinId, dq)
  checkIssuable(issuer, amount)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) + amount) })
  tx.put(reservations, { id: paymentId, dq, issuer_twin_id: issuerTwinId, amount: String(amount), maker })
}

/** Ends a payment's reservation, if it has one. */
export async function releaseSupply(tx: Writer, paymentId: number): Promise<void> {
  const row = await tx.get(reservations, paymentId)
  if (!row) return
  const issuer = await balanceOf(tx, row.issuer_twin_id, row.dq)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) - BigInt(row.amount)) })
  tx.remove(reservations, paymentId)
}

/** Takes an amount out of a reservation, to issue it in the same transaction. The last one ends the reservation. */
export async function drawSupply(tx: Writer, id: number, amount: bigint): Promise<void> {
  const { dq, issuer_twin_id: issuerTwinId, amount: left, maker } = await getExisting(tx, reservations, id)
  await releaseSupply(tx, id)
  const rest = BigInt(left) - amount
  if (rest > 0n) await reserveSupply(tx, { paymentId: id, dq, issuerTwinId, amount: rest, maker })
}

/**
 * Checks that an amount can be issued: with reservations, an issuer stays above -(2^53-1) units. Throws
 * `amount_invalid`.
 */
export function checkIssuable(issuer: BalanceRow, amount: bigint): void {
  if (spendable(issuer) - reserved(issuer) - amount >= -MAX_UNITS) return
  throw problem('amount_invalid', { detail: 'It is more than can be issued now. Use a smaller amount.' })
}
