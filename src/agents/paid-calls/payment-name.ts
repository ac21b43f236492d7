import { problem } from '../../base/problem.js'
import { canonicalJson, digest } from '../../base/secrets.js'
import { type PaymentRow, payments } from '../../payments/payments/payment.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Address } from '../wallets/evm.js'
import { type PaymentIdentifierRow, paymentIdentifiers } from './payment-identifier-row.js'

/** The name that a payer gave a payment, and what it pays. */
export type NamedPayment = Pick<PaymentIdentifierRow, 'id' | 'terms'>

/** A name, scoped to its payer. */
export const paymentNameOf = (payer: Address, identifier: string, terms: object): NamedPayment => ({
  id: digest(`payment identifier ${payer} ${identifier}`),
  terms: digest(canonicalJson(terms)),
})

/** The payment that had this name already, unless it was reversed. Throws `payment_identifier_mismatch` if it was for something else. */
export async function paymentNamed(tx: Reader, { id, terms }: NamedPayment): Promise<PaymentRow | undefined> {
  const row = await tx.get(paymentIdentifiers, id)
  if (!row) return undefined
  if (row.terms !== terms) throw problem('payment_identifier_mismatch')
  const payment = await getExisting(tx, payments, row.payment_id)
  return payment.status === 'reversed' ? undefined : payment
}

/** Stores the name, in the transaction that pays. */
export const namePayment = (tx: Writer, named: NamedPayment, paymentId: number, at: number): void =>
  tx.put(paymentIdentifiers, { ...named, payment_id: paymentId, created_at: at })
