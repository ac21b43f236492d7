import { problem } from '../../base/problem.js'
import { canonicalJson, digest } from '../../base/secrets.js'
import { fieldRefused } from '../../http/fields/field.js'
import { type PaymentRow, payments } from '../../payments/payments/payment.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import type { Address } from '../wallets/evm.js'
import type { DuePayment, SentPayment } from './payload.js'
import { type PaymentIdentifierRow, paymentIdentifiers } from './payment-identifier-row.js'

export const PAYMENT_IDENTIFIER = 'payment-identifier'

/** The name that a payer gave a payment, and what it pays. */
export type NamedPayment = Pick<PaymentIdentifierRow, 'id' | 'terms'>

/** The name in a payment's extension, scoped to its payer. Undefined if there is none. Throws `field_invalid`. */
export function namedPayment(
  { extensions, resource }: SentPayment,
  { network, asset, payTo, amount }: DuePayment,
  payer: Address,
): NamedPayment | undefined {
  const extension = extensions[PAYMENT_IDENTIFIER]
  const info = isObject(extension) ? extension.info : undefined
  if (!isObject(info) || (info.id === undefined && info.required !== true)) return undefined
  if (typeof info.id !== 'string' || !/^[\w-]{16,128}$/.test(info.id))
    throw fieldRefused(
      `paymentPayload.extensions.${PAYMENT_IDENTIFIER}.info.id`,
      'must be 16 to 128 letters, digits, hyphens or underscores',
    )
  const terms = { network, asset: asset.toLowerCase(), payTo: payTo.toLowerCase(), amount, resource: resource ?? null }
  return { id: digest(`payment identifier ${payer} ${info.id}`), terms: digest(canonicalJson(terms)) }
}

/** The payment that had this name already. Throws `payment_identifier_mismatch` if it was for something else. */
export async function paymentNamed(tx: Reader, { id, terms }: NamedPayment): Promise<PaymentRow | undefined> {
  const row = await tx.get(paymentIdentifiers, id)
  if (!row) return undefined
  if (row.terms !== terms) throw problem('payment_identifier_mismatch')
  return getExisting(tx, payments, row.payment_id)
}

/** Stores the name, in the transaction that pays. */
export const namePayment = (tx: Writer, named: NamedPayment, paymentId: number, at: number): void =>
  tx.put(paymentIdentifiers, { ...named, payment_id: paymentId, created_at: at })
