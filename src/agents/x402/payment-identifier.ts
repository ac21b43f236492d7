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

/** The name in a payment's extensions. Undefined if there is none. Throws `field_invalid`. */
export function identifierIn({ extensions }: Pick<SentPayment, 'extensions'>): string | undefined {
  const extension = extensions[PAYMENT_IDENTIFIER]
  const info = isObject(extension) ? extension.info : undefined
  if (!isObject(info) || (info.id === undefined && info.required !== true)) return undefined
  if (typeof info.id !== 'string' || !/^[\w-]{16,128}$/.test(info.id))
    throw fieldRefused(
      `paymentPayload.extensions.${PAYMENT_IDENTIFIER}.info.id`,
      'must be 16 to 128 letters, digits, hyphens or underscores',
    )
  return info.id
}

/** A name, scoped to its payer. */
export const nameOf = (payer: Address, identifier: string, terms: object): NamedPayment => ({
  id: digest(`payment identifier ${payer} ${identifier}`),
  terms: digest(canonicalJson(terms)),
})

/** The name of a payment that a shop sends to be settled. Undefined if there is none. Throws `field_invalid`. */
export function namedPayment(sent: SentPayment, due: DuePayment, payer: Address): NamedPayment | undefined {
  const identifier = identifierIn(sent)
  if (identifier === undefined) return undefined
  const { network, asset, payTo, amount } = due
  const terms = { network, asset: asset.toLowerCase(), payTo: payTo.toLowerCase(), amount }
  return nameOf(payer, identifier, { ...terms, resource: sent.resource ?? null })
}

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
