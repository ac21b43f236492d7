import { problem } from '../../base/problem.js'
import { collection, type Writer } from '../../storage/storage.js'
import { MAX_UNITS } from './amount.js'
import { type BalanceRow, balanceOf, balances, reserved, spendable } from './balance.js'

/** Supply of a digital quantity that is kept free while a card is charged, so that the charged amount can be issued. */
export interface ReservationRow {
  /** The id of its payment. */
  readonly id: number
  readonly dq: string
  readonly issuer_twin_id: number
  /** Smallest units, above zero. */
  readonly amount: string
}

export const reservations = collection<ReservationRow>()('reservations', {})

export interface Reserving {
  readonly paymentId: number
  readonly dq: string
  readonly issuerTwinId: number
  readonly amount: bigint
}

/** Reserves supply. Throws `amount_invalid` if that much cannot be issued in addition to what is reserved already. */
export async function reserveSupply(tx: Writer, { paymentId, dq, issuerTwinId, amount }: Reserving): Promise<void> {
  const issuer = await balanceOf(tx, issuerTwinId, dq)
  checkIssuable(issuer, amount)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) + amount) })
  tx.put(reservations, { id: paymentId, dq, issuer_twin_id: issuerTwinId, amount: String(amount) })
}

/** Ends a payment's reservation. Payments of older versions have none. */
export async function releaseSupply(tx: Writer, paymentId: number): Promise<void> {
  const row = await tx.get(reservations, paymentId)
  if (!row) return
  const issuer = await balanceOf(tx, row.issuer_twin_id, row.dq)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) - BigInt(row.amount)) })
  tx.remove(reservations, paymentId)
}

/**
 * Checks that an amount can be issued: with reservations, an issuer stays above -(2^53-1) units. Throws
 * `amount_invalid`.
 */
export function checkIssuable(issuer: BalanceRow, amount: bigint): void {
  if (spendable(issuer) - reserved(issuer) - amount >= -MAX_UNITS) return
  throw problem('amount_invalid', { detail: 'It is more than can be issued now. Use a smaller amount.' })
}
