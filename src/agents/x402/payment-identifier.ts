import { fieldRefused } from '../../http/fields/field.js'
import { isObject } from '../../storage/unknown.js'
import { type NamedPayment, paymentNameOf } from '../paid-calls/payment-name.js'
import type { Address } from '../wallets/evm.js'
import type { DuePayment, SentPayment } from './payload.js'

export const PAYMENT_IDENTIFIER = 'payment-identifier'

/** The name in a payment's extensions. Undefined if there is none. Throws `field_invalid`. */
export function identifierIn({ extensions }: Pick<SentPayment, 'extensions'>): string | undefined {
  const extension = extensions[PAYMENT_IDENTIFIER]
  if (extension === undefined || extension === null) return undefined
  const info = isObject(extension) ? extension.info : undefined
  // Whoever named a payment wrongly would pay twice, and learn nothing of it.
  if (!isObject(info))
    throw fieldRefused(`paymentPayload.extensions.${PAYMENT_IDENTIFIER}.info`, 'must be an object with an `id`')
  if (info.id === undefined && info.required !== true) return undefined
  if (typeof info.id !== 'string' || !/^[\w-]{16,128}$/.test(info.id))
    throw fieldRefused(
      `paymentPayload.extensions.${PAYMENT_IDENTIFIER}.info.id`,
      'must be 16 to 128 letters, digits, hyphens or underscores',
    )
  return info.id
}

/** The name of a payment that a shop sends to be settled. Undefined if there is none. Throws `field_invalid`. */
export function namedPayment(sent: SentPayment, due: DuePayment, payer: Address): NamedPayment | undefined {
  const identifier = identifierIn(sent)
  if (identifier === undefined) return undefined
  const { network, asset, payTo, amount } = due
  const terms = { network, asset: asset.toLowerCase(), payTo: payTo.toLowerCase(), amount: String(BigInt(amount)) }
  return paymentNameOf(payer, identifier, { ...terms, resource: sent.resource ?? null })
}
