import { problem } from '../../base/problem.js'
import { collection, type Writer } from '../../storage/storage.js'
import { MAX_UNITS } from './amount.js'
import { type BalanceRow, balanceOf, balances, reserved, spendable } from './balance.js'

/** Supply of a digital quantity that is kept free for a card that is being charged, so that what is charged can be issued. */
export interface ReservationRow {
  /** Of the payment that it is for. */
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

/** Throws `amount_invalid` where that much cannot be issued beside what is reserved already. */
export async function reserveSupply(tx: Writer, { paymentId, dq, issuerTwinId, amount }: Reserving): Promise<void> {
  const issuer = await balanceOf(tx, issuerTwinId, dq)
  checkIssuable(issuer, amount)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) + amount) })
  tx.put(reservations, { id: paymentId, dq, issuer_twin_id: issuerTwinId, amount: String(amount) })
}

/** Others can be issued it again. A payment of an older version reserved nothing. */
export async function releaseSupply(tx: Writer, paymentId: number): Promise<void> {
  const row = await tx.get(reservations, paymentId)
  if (!row) return
  const issuer = await balanceOf(tx, row.issuer_twin_id, row.dq)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) - BigInt(row.amount)) })
  tx.remove(reservations, paymentId)
}

/** Throws `amount_invalid`: with what is reserved, an issuer goes below zero by no more than a JSON number can count. */
export function checkIssuable(issuer: BalanceRow, amount: bigint): void {
  if (spendable(issuer) - reserved(issuer) - amount >= -MAX_UNITS) return
  throw problem('amount_invalid', { detail: 'That much cannot be issued.' })
}
