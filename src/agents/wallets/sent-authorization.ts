import { z } from '../../http/fields/schema.js'
import { type Address, addressIn, type Hex, type TransferAuthorization } from './evm.js'

/** A signed transfer as JSON has it: numbers as digits, and bytes as hex. */

export const SentDigits = z.string().check(z.maxLength(78), z.regex(/^\d+$/, 'digits'))
export const SentAddress = z.string().check(z.regex(/^0x[0-9a-fA-F]{40}$/, '0x and 40 hex digits'))
/** Signatures of smart wallets are long. */
export const SentSignature = z
  .string()
  .check(z.maxLength(20_000), z.regex(/^0x([0-9a-fA-F]{2})*$/, '0x and hex digits'))

export const SentAuthorization = z.object({
  from: SentAddress,
  to: SentAddress,
  value: SentDigits,
  validAfter: SentDigits,
  validBefore: SentDigits,
  nonce: z.string().check(z.regex(/^0x[0-9a-fA-F]{64}$/, '0x and 64 hex digits')),
})

/** The authorization in it. Undefined if a number has over 256 bits. */
export function authorizationIn(sent: z.output<typeof SentAuthorization>): TransferAuthorization | undefined {
  const [value, validAfter, validBefore] = [BigInt(sent.value), BigInt(sent.validAfter), BigInt(sent.validBefore)]
  if ([value, validAfter, validBefore].some((number) => number >= 2n ** 256n)) return undefined
  const parties = { from: sentAddress(sent.from), to: sentAddress(sent.to) }
  return { ...parties, value, validAfter, validBefore, nonce: sent.nonce as Hex }
}

/** Of a text that `SentAddress` has checked. */
export function sentAddress(text: string): Address {
  const address = addressIn(text)
  if (address === undefined) throw new Error(`${text} is no address`)
  return address
}
